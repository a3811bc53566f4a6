// The layouts of a GEMM's matrices in memory: as the caller passes them, and as packed copies.
#pragma once

#include <cstdint>
#include <numeric>

#include "hirgen/matmul.hpp"

namespace hirgen {

/// `batch` row-major matrices [rows, cols]. There are `stride` elements between matrices (0: all
/// batches share one), and `apart` elements between rows (0: `cols`). Pointers to the first matrix
/// are multiples of `align` bytes.
struct Matrix {
  int64_t rows, cols, batch, stride, align, apart = 0;
  bool packed = false;  ///< copied to the workspace so that every row is aligned

  int64_t leading() const { return apart == 0 ? cols : apart; }

  /// The alignment of every row in bytes, at most 16, if the tensor that contains the matrix starts
  /// at a multiple of 16 bytes.
  int64_t row_alignment(DType type) const {
    if (packed) return 16;
    const int64_t row = std::gcd(cols, leading());  // a slice starts at a multiple of cols
    const int64_t elements = batch == 1 ? row : std::gcd(row, stride);
    return std::gcd(elements * static_cast<int64_t>(size_of(type)), int64_t{16});
  }
  /// row_alignment(), but at most `align`. cuBLASLt's heuristic assumes 256 bytes unless it gets
  /// this number.
  uint32_t alignment(DType type) const {
    return static_cast<uint32_t>(std::gcd(row_alignment(type), align));
  }

  /// The layout of the packed copy: rows of packed_row(cols) elements, and no gaps between
  /// matrices. A matrix that all batches share stays one matrix.
  Matrix pack() const {
    const int64_t row = packed_row(cols);
    return {rows, cols, batch, stride == 0 ? 0 : rows * row, 16, row, true};
  }

  /// The same memory with the number of columns (or of rows) rounded up to packed_row().
  Matrix rounded(bool columns) const {
    Matrix larger = *this;
    larger.apart = leading();
    (columns ? larger.cols : larger.rows) = packed_row(columns ? cols : rows);
    return larger;
  }
};

inline Matrix given_a(const MatmulShape& s) {
  return s.transpose_a ? Matrix{s.k, s.m, s.batch, s.stride_a, s.align_a}
                       : Matrix{s.m, s.k, s.batch, s.stride_a, s.align_a};
}

inline Matrix given_b(const MatmulShape& s) {
  return s.transpose_b ? Matrix{s.n, s.k, s.batch, s.stride_b, s.align_b, s.row_b}
                       : Matrix{s.k, s.n, s.batch, s.stride_b, s.align_b, s.row_b};
}

inline Matrix given_c(const MatmulShape& s) { return {s.m, s.n, s.batch, s.stride_c, s.align_c}; }

/// With scales of blocks, cuBLASLt needs a multiple of 4 rows, because the scales of all rows for
/// one block of k must fill a multiple of 16 bytes. If m is no multiple of 4, A is copied to memory
/// with more rows, and the result is copied back.
inline bool adds_rows(const MatmulShape& s) { return s.scales && s.m % 4 != 0; }
inline int64_t scaled_rows(const MatmulShape& s) { return (s.m + 3) / 4 * 4; }

/// The matrices of the GEMM that the library computes. If C is packed, n is rounded up to
/// packed_row(n) in B and C; the added columns may have any content.
inline Matrix operand_a(const MatmulShape& s) {
  if (adds_rows(s)) return {scaled_rows(s), s.k, 1, 0, 16};
  return s.pack_a ? given_a(s).pack() : given_a(s);
}

inline Matrix operand_b(const MatmulShape& s) {
  Matrix b = given_b(s);
  if (s.pack_c) (s.transpose_b ? b.rows : b.cols) = packed_row(s.n);
  return s.pack_b ? b.pack() : b;
}

inline Matrix result(const MatmulShape& s) {
  if (adds_rows(s)) return {scaled_rows(s), s.n, 1, 0, 16};
  Matrix c = given_c(s);
  if (s.pack_c) c.cols = packed_row(s.n);
  return s.pack_c ? c.pack() : c;
}

/// The scales as cuBLASLt reads them, from a multiple of 16 bytes on. Scales of rows are one row
/// for A and one for B. For blocks of A, the scales of all m rows for one block of k are adjacent.
/// For blocks of B, each row of scales begins at a multiple of 16 bytes.
inline Matrix scales_of_a(const MatmulShape& s) {
  if (s.row_scales) return {1, s.m, 1, 0, 16};
  return {s.k / kScaleBlock, scaled_rows(s), 1, 0, 16};
}
inline Matrix scales_of_b(const MatmulShape& s) {
  if (s.row_scales) return {1, result(s).cols, 1, 0, 16};
  const int64_t blocks = s.k / kScaleBlock;
  return {s.n / kScaleBlock, blocks, 1, 0, 16, (blocks + 3) / 4 * 4};
}

}  // namespace hirgen
