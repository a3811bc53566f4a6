// Copies between the memories of two GPUs by kernels, where copy engines would take longer to
// start than to copy.
//
// One kernel does all that the copying side of a transfer does: waits for the ready flag, copies,
// and sets the done flag in the peer's memory.
//
// A kernel that waits holds SMs. That cannot stop what it waits for: the peer's ready flag, which
// the peer issued before any copy that depends on this rank, needs the peer's GPU alone; and there
// the waiting kernels leave most SMs to everything else, since a stream runs one at a time and each
// has few blocks (kMostBlocks in transfers.cu). Two ranks on one GPU are refused when memory is
// shared.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/flags.hpp"

namespace hirgen {

/// The flags of one transfer, as the rank that copies has them.
struct TransferFlags {
  CUdeviceptr ready = 0;  ///< of this rank: the peer's buffer may be used
  CUdeviceptr done = 0;   ///< of the peer: this rank has copied
  uint32_t* blocks =
      nullptr;  ///< of this rank: blocks of the kernel that are done; 0 between kernels
  SequenceNumber sequence;
};

/// What one transfer copies, once its ready flag is set.
struct Transfer {
  void* out = nullptr;
  const void* in = nullptr;
  size_t bytes = 0;
  TransferFlags flags;
};

/// Transfers that do not depend on each other, in one kernel: all copy at once, and end together.
class TransferKernel {
 public:
  /// One more transfer. `out` and `in` need no alignment; copies are fast where both are
  /// equally far from a multiple of 16 bytes. They do not overlap.
  void add(void* out, const void* in, size_t bytes, const TransferFlags& flags) {
    transfers_.push_back({out, in, bytes, flags});
  }
  /// Launches all of them on `stream`. `where` is the spec position, a string that outlives
  /// the program.
  void submit(cudaStream_t stream, const char* where);

 private:
  std::vector<Transfer> transfers_;
};

/// One transfer in a kernel of its own.
void launch_transfer(void* out, const void* in, size_t bytes, const TransferFlags& flags,
                     cudaStream_t stream, const char* where);

}  // namespace hirgen
