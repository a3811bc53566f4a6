// Copies within the memory of one GPU by kernels. They are for several small copies, for which
// starting each cudaMemcpyAsync would take longer than the copy.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace hirgen {

/// Independent copies that one kernel makes at the same time. On the CPU device, the copies run one
/// after another.
class CopyKernel {
 public:
  /// The most copies that add() may be called for.
  static constexpr size_t kMostCopies = 16;

  /// Adds a copy of `bytes` bytes. No copy may write bytes that another copy reads or writes.
  /// The pointers need no alignment, but copies are fastest if both have the same remainder modulo
  /// 16 bytes.
  void add(void* out, const void* in, size_t bytes);
  /// Launches all copies on `stream`. `where` is the spec position, a string that outlives the
  /// program.
  void submit(cudaStream_t stream, const char* where);

  /// One copy, as the kernel gets it.
  struct Copy {
    char* out;
    const char* in;
    size_t bytes;
  };
  /// The argument of the kernel, passed by value.
  struct List {
    Copy copies[kMostCopies];
    size_t count = 0;
  };

 private:
  List list_;
};

}  // namespace hirgen
