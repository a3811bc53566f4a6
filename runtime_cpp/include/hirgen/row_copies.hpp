// Copies of matrices that change the leading dimension. Operands of GEMMs are copied to rows that
// begin at multiples of 16 bytes, and results are copied back. A kernel scales the rows and columns
// of results if the GEMM cannot.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// A copy of `batch` row-major matrices [rows, columns]. Distances are in elements.
struct RowCopy {
  void* out;
  const void* in;
  int64_t out_row, in_row;      ///< distance between rows
  int64_t out_batch, in_batch;  ///< distance between matrices
  int64_t rows, columns, batch;
  size_t element;  ///< bytes of an element: 2 or 4
};

constexpr size_t kMostRowCopies = 4;

/// Enqueues the `count` copies from `first` on, at most kMostRowCopies, as one kernel. Pointers
/// must be aligned to the size of an element. `where` is the spec position, a string that outlives
/// the program.
void launch_row_copies(const RowCopy* first, size_t count, cudaStream_t stream, const char* where);

/// Enqueues c[i, j] = c[i, j] * rows[i] * columns[j], in fp32, for a dense matrix [m, n] of type
/// kBf16 or kFp32. Throws Error(kInternal) for other types.
void launch_scale_rows(void* c, DType type, int64_t m, int64_t n, const float* rows,
                       const float* columns, cudaStream_t stream, const char* where);

}  // namespace hirgen
