// Copies between the memories of two GPUs by kernels, where copy engines would take longer to
// start than to copy.
//
// One kernel does all that the copier of a loan does: waits until the peer has lent its buffer,
// copies, and says so in the peer's memory.
//
// A kernel that waits holds multiprocessors. That cannot stop what it waits for: the peer's
// signal, which the peer issued before any copy that depends on this rank, needs the peer's GPU
// alone; and there the waiting kernels leave most multiprocessors to everything else, since a
// stream runs one at a time and each has few blocks (kMostBlocks in transfers.cu). Two ranks on
// one GPU are refused when memory is shared.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/words.hpp"

namespace hirgen {

/// The words of one transfer, as its copier has them.
struct Loan {
  CUdeviceptr lent = 0;        ///< own: the peer has lent its buffer
  CUdeviceptr copied = 0;      ///< of the peer: this rank has copied
  uint32_t* blocks = nullptr;  ///< own: blocks of the kernel that are done; 0 between kernels
  CallNumber call;
};

/// What one transfer copies, once the peer lends it.
struct Transfer {
  void* out = nullptr;
  const void* in = nullptr;
  size_t bytes = 0;
  Loan loan;
};

/// Transfers that do not depend on each other, in one kernel: all copy at once, and end together.
class TransferKernel {
 public:
  /// One more transfer. `out` and `in` need no alignment; copies are fast where both are
  /// equally far from a multiple of 16 bytes. They do not overlap.
  void add(void* out, const void* in, size_t bytes, const Loan& loan) {
    transfers_.push_back({out, in, bytes, loan});
  }
  /// Launches all of them on `stream`. `where` is the spec position, a string that outlives
  /// the program.
  void submit(cudaStream_t stream, const char* where);

 private:
  std::vector<Transfer> transfers_;
};

/// One transfer in a kernel of its own.
void launch_transfer(void* out, const void* in, size_t bytes, const Loan& loan, cudaStream_t stream,
                     const char* where);

}  // namespace hirgen
