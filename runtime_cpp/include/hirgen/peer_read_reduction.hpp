// Allreduce and reduce-scatter kernels that read the partial sums from peer memory (one-shot), and
// can also write the result to peer memory (two-shot).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/tensor.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// Computes out = the sum of the partial sums of this rank and of the ranks passed to add(). One
/// kernel waits for the ready flags of all peers, adds in fp32 in rank order, and rounds once. The
/// kernel stores the result in `out` and in the memory of the peers passed to store(), then sets
/// the done flags. On the CPU device, or if there are more flags than one kernel can take, separate
/// kernels wait for the flags and set them.
///
/// The kernel may occupy all SMs, also while it waits. So kernels of this GPU that peers wait for
/// must finish before the reduction starts: a later kernel might find no free SM. Stream memory
/// operations and copy engines need no SM, so they may set ready flags on another stream meanwhile.
/// hirgen verify warns of kernels that may wait for each other in this way, such as the kernel with
/// which a CUDA graph sets flags on the copy stream.
class PeerReadReduction {
 public:
  /// `local` is the partial sum of `rank`, which is this rank. All partial sums and the result have
  /// elements of `type`.
  PeerReadReduction(int64_t rank, const void* local, DType type) : local_(local), type_(type) {
    sources_.push_back({rank, local, 0});
  }
  /// Adds the partial sum of a peer, or the next sub-chunk of this partial sum. The sub-chunks of a
  /// peer must be adjacent in memory, in the order of the calls, or this throws Error(kInternal).
  void add(int64_t rank, const void* partial_sum, int64_t elements, const TransferFlags& flags);
  /// Also stores the result in memory of a peer, or in the next sub-chunk of that memory. The
  /// sub-chunks must be adjacent as for add().
  void store(int64_t rank, void* target, int64_t elements, const TransferFlags& flags);
  /// Launches the reduction on `stream`. Throws Error(kInternal) if a partial sum or a target does
  /// not have `elements` elements, if there are more than 64 ranks, or for an integer or 8-bit
  /// type. `where` is the spec position, a string that outlives the program.
  void submit(void* out, int64_t elements, cudaStream_t stream, const char* where);

 private:
  /// Memory of a rank that the kernel reads or writes.
  struct RankMemory {
    int64_t rank;
    const void* memory;
    int64_t elements;  // in all sub-chunks so far
  };
  void extend(std::vector<RankMemory>& all, int64_t rank, const void* memory,
              int64_t elements) const;

  const void* local_;
  DType type_;
  std::vector<RankMemory> sources_, targets_;
  std::vector<TransferFlags> read_, written_;
};

}  // namespace hirgen
