// Sums over ranks that read the parts of the peers where they are, and write the result where peers
// need it, in memory that the peers lend.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/tensor.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// out = the sum of one part of each rank: one kernel waits until all peers have lent theirs, adds
/// in fp32 in the order of the ranks, rounds once, stores the result here and where peers lend a
/// place for it, and tells the peers that it has read and written.
///
/// The kernel may take all of the GPU, and holds it while it waits. So everything on this GPU that
/// peers wait for must come before it on the stream: products, copies, and the loans of all parts
/// and places. Then sums on several GPUs that wait for each other's loans get all of them, since no
/// loan of a call is still to be issued behind its sum.
class LoanSum {
 public:
  /// `own` is the part of `rank`, which sums; all parts have elements of `type`, as the result
  /// does.
  LoanSum(int64_t rank, const void* own, DType type) : own_(own), type_(type) {
    sources_.push_back({rank, own, 0});
  }
  /// The part of a peer, or a piece of it behind those that were added before.
  void add(int64_t rank, const void* part, int64_t elements, const Loan& loan);
  /// A place of a peer where the result goes, too, or a piece of it behind those that were named
  /// before.
  void store(int64_t rank, void* place, int64_t elements, const Loan& loan);
  /// Launches the sum of `elements` elements, which all parts have, on `stream`. `where` is the
  /// spec position, a string that outlives the program.
  void submit(void* out, int64_t elements, cudaStream_t stream, const char* where);

 private:
  /// Memory of a rank that the kernel reads or writes.
  struct Lent {
    int64_t rank;
    const void* memory;
    int64_t elements;  // so far
  };
  void extend(std::vector<Lent>& all, int64_t rank, const void* memory, int64_t elements) const;

  const void* own_;
  DType type_;
  std::vector<Lent> sources_, targets_;
  std::vector<Loan> read_, written_;
};

}  // namespace hirgen
