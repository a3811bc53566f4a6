// Reductions over ranks that read the partial sums in peer memory (one-shot), and can also write
// the result to peer memory (two-shot).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/tensor.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// out = the sum of one partial sum of each rank: one kernel waits for the ready flags of all
/// peers, adds in fp32 in the order of the ranks, rounds once, stores the result here and in the
/// memory of those peers that take it, and sets the done flags.
///
/// The kernel may take all of the GPU, and holds it while it waits. So everything on this GPU that
/// peers wait for must come before it on the stream: GEMMs, copies, and all ready flags of the
/// call. Then reductions on several GPUs that wait for each other's ready flags get all of them,
/// since none is still to be set behind a reduction.
class PeerReadReduction {
 public:
  /// `local` is the partial sum of `rank`, which reduces. Its elements, those of the peers and
  /// those of the result are of `type`.
  PeerReadReduction(int64_t rank, const void* local, DType type) : local_(local), type_(type) {
    sources_.push_back({rank, local, 0});
  }
  /// The partial sum of a peer, or a sub-chunk of it that follows those added before.
  void add(int64_t rank, const void* partial_sum, int64_t elements, const TransferFlags& flags);
  /// Memory of a peer that the result is also stored in, or a sub-chunk of it that follows those
  /// named before.
  void store(int64_t rank, void* target, int64_t elements, const TransferFlags& flags);
  /// Launches the reduction of `elements` elements, which all partial sums have, on `stream`.
  /// `where` is the spec position, a string that outlives the program.
  void submit(void* out, int64_t elements, cudaStream_t stream, const char* where);

 private:
  /// Memory of a rank that the kernel reads or writes.
  struct RankMemory {
    int64_t rank;
    const void* memory;
    int64_t elements;  // so far
  };
  void extend(std::vector<RankMemory>& all, int64_t rank, const void* memory,
              int64_t elements) const;

  const void* local_;
  DType type_;
  std::vector<RankMemory> sources_, targets_;
  std::vector<TransferFlags> read_, written_;
};

}  // namespace hirgen
