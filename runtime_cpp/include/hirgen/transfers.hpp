// Copies between the memories of two GPUs by kernels, for transfers that are so small that starting
// a copy engine takes longer than the copy.
//
// One kernel does the work of the copying rank in a transfer: it waits for the ready flag, copies,
// and sets the done flag in the peer's memory.
//
// A kernel that waits holds SMs. It cannot block the work that it waits for. The peer issues its
// ready flag before any copy that depends on this rank, so the flag needs the peer's GPU only. The
// waiting kernels on that GPU leave most SMs free: a stream runs one kernel after the other, and
// each kernel has few blocks (kMostBlocks in transfers.cu). Sharing memory between two ranks of one
// GPU is an error.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/flags.hpp"

namespace hirgen {

/// The flags of one transfer, as the copying rank uses them.
struct TransferFlags {
  CUdeviceptr ready = 0;  ///< of this rank: the peer's buffer may be used
  CUdeviceptr done = 0;   ///< of the peer: this rank has copied
  uint32_t* blocks =
      nullptr;  ///< of this rank: blocks of the kernel that are done; 0 between kernels
  SequenceNumber sequence;
};

/// The copy of one transfer, which begins when its ready flag is set.
struct Transfer {
  void* out = nullptr;
  const void* in = nullptr;
  size_t bytes = 0;
  TransferFlags flags;
};

/// Independent transfers in one kernel: all copy at the same time, and end together.
class TransferKernel {
 public:
  /// Adds a transfer. `out` and `in` need no alignment; copies are fast if both are at the same
  /// distance from a multiple of 16 bytes. They must not overlap.
  void add(void* out, const void* in, size_t bytes, const TransferFlags& flags) {
    transfers_.push_back({out, in, bytes, flags});
  }
  /// Launches all of them on `stream`. `where` is the spec position, a string that outlives
  /// the program.
  void submit(cudaStream_t stream, const char* where);

 private:
  std::vector<Transfer> transfers_;
};

/// One transfer in one kernel.
void launch_transfer(void* out, const void* in, size_t bytes, const TransferFlags& flags,
                     cudaStream_t stream, const char* where);

}  // namespace hirgen
