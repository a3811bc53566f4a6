// The matrices of a GEMM: the places of their rows in memory, as given and as packed.
#pragma once

#include <cstdint>
#include <numeric>

#include "hirgen/matmul.hpp"

namespace hirgen {

/// A row-major matrix [rows, cols], `batch` times. The distance of rows is `apart` elements, or
/// `cols` if `apart` is 0. Pointers to it are multiples of `align` bytes.
struct Matrix {
  int64_t rows, cols, batch, stride, align, apart = 0;
  bool packed = false;  ///< copied to the workspace so that every row is aligned

  int64_t leading() const { return apart == 0 ? cols : apart; }

  /// The bytes, up to 16, that the start of every row is a multiple of, if the first row's start is
  /// a multiple of 16.
  int64_t row_alignment(DType type) const {
    if (packed) return 16;
    const int64_t row = std::gcd(cols, leading());  // a slice may start at columns of its size
    const int64_t elements = batch == 1 ? row : std::gcd(row, stride);
    return std::gcd(elements * static_cast<int64_t>(size_of(type)), int64_t{16});
  }
  /// The same for pointers with alignment `align`. The heuristic would otherwise assume 256 bytes.
  uint32_t alignment(DType type) const {
    return static_cast<uint32_t>(std::gcd(row_alignment(type), align));
  }

  /// The copy of a packing shape: dense matrices of aligned rows. A matrix that all batches
  /// share stays one matrix.
  Matrix pack() const {
    const int64_t row = packed_row(cols);
    return {rows, cols, batch, stride == 0 ? 0 : rows * row, 16, row, true};
  }

  /// The same memory with the number of its columns, or rows, rounded up.
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

/// The operands of the GEMM as a library computes it. Columns of a packed C are rounded up; the
/// added columns may have any content.
inline Matrix operand_a(const MatmulShape& s) { return s.pack_a ? given_a(s).pack() : given_a(s); }

inline Matrix operand_b(const MatmulShape& s) {
  Matrix b = given_b(s);
  if (s.pack_c) (s.transpose_b ? b.rows : b.cols) = packed_row(s.n);
  return s.pack_b ? b.pack() : b;
}

inline Matrix result(const MatmulShape& s) {
  Matrix c = given_c(s);
  if (s.pack_c) c.cols = packed_row(s.n);
  return s.pack_c ? c.pack() : c;
}

}  // namespace hirgen
