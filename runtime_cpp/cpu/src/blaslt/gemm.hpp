// Computes GEMMs: D[m, n] = activation(alpha A[m, k] B[k, n] + beta C[m, n] + bias[m]).
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace hirgen_cpu {

/// A matrix in memory, with the distance in elements from one row, column and batch to the next.
struct Matrix {
  void* data = nullptr;
  cudaDataType_t type = CUDA_R_32F;
  int64_t row_stride = 1, column_stride = 0, batch_stride = 0;
};

/// The sizes of tiles, and the order in which the tiles of a result are computed. In every tiling,
/// each element sums the same products in the same order, so all results are bitwise equal.
struct Tiling {
  int64_t tile = 128;       ///< rows and columns of a tile, a multiple of 8, at most 128
  int64_t depth = 256;      ///< elements of k in a block, at most 256
  bool rows_first = false;  ///< tiles are computed row by row, else column by column
};

constexpr int64_t kScaled = 128;  ///< elements or lines of a block, unless a line is one block

/// The scales of an operand. A line is a row of A or a column of B. Each line consists of blocks of
/// `depth` elements along k. `lines` adjacent lines share their scales: the scale of block b of
/// line i is data[i / lines * line_stride + b * block_stride].
struct Scales {
  const float* data = nullptr;  ///< null: no scales
  int64_t lines = 1, line_stride = 0, block_stride = 0, depth = kScaled;

  float at(int64_t line, int64_t block) const {
    return data[line / lines * line_stride + block * block_stride];
  }
};
/// Returns the number of blocks of kScaled elements, or of kScaled lines. The last block may be
/// partial.
constexpr int64_t blocks_of(int64_t elements) { return (elements + kScaled - 1) / kScaled; }

struct Gemm {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1, beta = 0;
  Matrix a, b, c, d;
  Scales scales_a, scales_b;   ///< both operands have scales of the same depth, or neither
  const void* bias = nullptr;  ///< m elements of bias_type; null: no bias
  cudaDataType_t bias_type = CUDA_R_32F;
  bool relu = false, gelu = false;
  Tiling tiling;
};

/// Runs the GEMM in the calling thread, with fp32 sums that are rounded once, to D's type.
void multiply(const Gemm& gemm);

/// Returns the size of an element in bytes.
inline size_t size_of(cudaDataType_t type) {
  if (type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2) return 1;
  return type == CUDA_R_32F ? 4 : 2;
}

}  // namespace hirgen_cpu
