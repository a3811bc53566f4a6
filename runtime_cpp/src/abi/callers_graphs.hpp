// Counts the calls of a handle that the host program has captured into its own CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace hirgen {

/// Counts the captured calls whose graphs still exist. NCCL does not destroy a communicator before
/// all graphs with its operations are destroyed, and the host program may never destroy its graphs.
/// Embedded::end() therefore keeps the communicators if the count is not 0 on some rank.
class CallersGraphs {
 public:
  /// Counts a call in the graph that `stream` is captured into, until the graph and its executable
  /// graphs are destroyed. Does nothing unless `stream` is being captured.
  void add_call(cudaStream_t stream);
  /// The number of captured calls whose graphs still exist. Waits up to half a second for it to
  /// become 0, because CUDA reports the end of a graph in another thread, some time after the graph
  /// is destroyed.
  int64_t remaining() const;

 private:
  using Count = std::atomic<int64_t>;
  std::shared_ptr<Count> calls_ = std::make_shared<Count>(0);  ///< graphs may outlive the handle
};

}  // namespace hirgen
