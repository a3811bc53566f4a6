// Sums over ranks that read the parts of the peers where they are, in memory that the peers lend.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/tensor.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// out = the sum of one part of each rank: one kernel waits until all peers have lent theirs, adds
/// in fp32 in the order of the ranks, rounds once and tells the peers that it has read.
///
/// The kernel may take all of the GPU, and holds it while it waits. So the stream must have waited
/// for everything on this GPU that peers need before they lend: its products, loans and copies.
class LoanSum {
 public:
  /// `own` is the part of `rank`, which sums; all parts have elements of `type`, as the result
  /// does.
  LoanSum(int64_t rank, const void* own, DType type) : own_(own), type_(type) {
    sources_.push_back({rank, own, 0});
  }
  /// The part of a peer, or a piece of it behind those that were added before.
  void add(int64_t rank, const void* part, int64_t elements, const Loan& loan);
  /// Launches the sum of `elements` elements, which all parts have, on `stream`. `where` is the
  /// spec position, a string that outlives the program.
  void submit(void* out, int64_t elements, cudaStream_t stream, const char* where);

 private:
  struct Source {
    int64_t rank;
    const void* part;
    int64_t elements;  // so far
  };

  const void* own_;
  DType type_;
  std::vector<Source> sources_;
  std::vector<Loan> loans_;
};

}  // namespace hirgen
