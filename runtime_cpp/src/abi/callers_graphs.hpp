// The CUDA graphs of the host program that contain calls.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace hirgen {

/// Counts the calls in graphs that exist. NCCL waits for the end of all graphs with operations of a
/// communicator before it destroys the communicator, and the host program may never destroy its
/// graphs.
class CallersGraphs {
 public:
  /// Counts a call in the graph that `stream` is captured into, until the graph and its executable
  /// graphs are destroyed.
  void add_call(cudaStream_t stream);
  /// The number of calls in graphs that exist. Waits up to half a second for 0, because CUDA counts
  /// the end of a graph in another thread.
  int64_t remaining() const;

 private:
  using Count = std::atomic<int64_t>;
  std::shared_ptr<Count> calls_ = std::make_shared<Count>(0);  ///< graphs may outlive the handle
};

}  // namespace hirgen
