// Copies between the memories of two GPUs by kernels. They are for small transfers, for which
// starting a copy engine would take longer than the copy.
//
// One kernel does the work of the copying rank in a transfer: it waits for the ready flag, copies,
// and sets the done flag in the peer's memory.
//
// A kernel that waits occupies SMs, but cannot block the work that it waits for. The peer writes
// its ready flag before it starts any copy that depends on this rank, so the flag depends only on
// work of the peer's GPU. That work finds free SMs, because kernels that wait on the peer's GPU
// leave most SMs free. A stream runs one kernel after the other, and each kernel has few blocks (at
// most 48, see transfers.cu). Two ranks can share one GPU only with HIRGEN_SHARE_GPU=1.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/flags.hpp"

namespace hirgen {

/// The flags of one transfer, as the copying rank uses them.
struct TransferFlags {
  CUdeviceptr ready = 0;       ///< in this rank's memory: the peer's buffer is ready
  CUdeviceptr done = 0;        ///< in the peer's memory: this rank's copy is done
  uint32_t* blocks = nullptr;  ///< in this rank's memory: finished blocks; 0 between kernels
  SequenceNumber sequence;
};

/// One transfer: a copy of `bytes` bytes that begins when the ready flag is set.
struct Transfer {
  void* out = nullptr;
  const void* in = nullptr;
  size_t bytes = 0;
  TransferFlags flags;
};

/// Independent transfers that kernels copy: each kernel copies up to 48 transfers at the same time.
/// On the CPU device, the transfers run one after another.
class TransferKernel {
 public:
  /// Adds a transfer. `out` and `in` must not overlap. They need no alignment, but copies are
  /// fastest if both have the same remainder modulo 16 bytes.
  void add(void* out, const void* in, size_t bytes, const TransferFlags& flags) {
    transfers_.push_back({out, in, bytes, flags});
  }
  /// Launches all transfers on `stream`. `where` is the spec position, a string that outlives the
  /// program.
  void submit(cudaStream_t stream, const char* where);

 private:
  std::vector<Transfer> transfers_;
};

/// Launches one transfer as one kernel.
void launch_transfer(void* out, const void* in, size_t bytes, const TransferFlags& flags,
                     cudaStream_t stream, const char* where);

}  // namespace hirgen
