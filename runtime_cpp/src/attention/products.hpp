// Products of a warp's 16 rows with a tile in shared memory, added to fp32 sums: on a GPU by tensor
// cores for 16-bit types (mma.m16n8k16), by fused multiply-adds for fp32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "attention/fragment.hpp"
#include "attention/shared_rows.hpp"

namespace hirgen::tiles {

#ifdef __CUDACC__

/// Loads four 8x8 matrices of 16-bit elements from shared memory, transposed if `Transposed`. Each
/// thread passes the address of row lane() % 8 of matrix lane() / 8.
template <bool Transposed>
HG_DEVICE void load_matrices(const void* row, uint32_t (&m)[4]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address));
  }
}

/// sums[16, 8] += a[16, 16] b[16, 8]. The thread's sums are value[slot][j] and value[slot][j + 1].
template <typename T, int N>
HG_DEVICE void multiply_add(Fragment<N>& sums, int j, const uint32_t (&a)[4], uint32_t b0,
                            uint32_t b1) {
  float &c0 = sums.value[0][j], &c1 = sums.value[0][j + 1];
  float &c2 = sums.value[1][j], &c3 = sums.value[1][j + 1];
#define HG_MMA(enumerator, name, element, value, bytes, digits, stored, cuda, cudnn, ptx, ...) \
  if constexpr (std::is_same_v<T, element>)                                                    \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #ptx "." #ptx                        \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  HG_NUMBER_TYPES(HG_MMA)
#undef HG_MMA
}

/// Two values of adjacent columns, rounded to T (16 bits each).
template <typename T>
HG_DEVICE uint32_t rounded_pair(float x, float y) {
  T pair[2];
  narrow(x, pair[0]);
  narrow(y, pair[1]);
  uint32_t bits = 0;
  memcpy(&bits, pair, sizeof(bits));
  return bits;
}

/// Columns [16 k, 16 k + 16) of a fragment, rounded to T, as the first operand of an mma.
template <typename T, int M>
HG_DEVICE void operand_of(const Fragment<M>& x, int k, uint32_t (&a)[4]) {
  HG_UNROLL
  for (int i = 0; i < 4; ++i) {
    const float* pair = &x.value[i % 2][4 * k + i / 2 * 2];
    a[i] = rounded_pair<T>(pair[0], pair[1]);
  }
}

template <typename T, int D, int R, int N>
HG_DEVICE void multiply_transposed(Fragment<N>& sums, const SharedRows<T, D, R>& a, int first,
                                   const SharedRows<T, D, N>& b, int /*depth*/) {
  if constexpr (std::is_same_v<T, float>) {
    const float *a0 = a.at(first + row_of(0)), *a1 = a.at(first + row_of(1));
    for (int k = 0; k < D; k += 4) {
      const float4 x0 = *reinterpret_cast<const float4*>(a0 + k);
      const float4 x1 = *reinterpret_cast<const float4*>(a1 + k);
      HG_UNROLL
      for (int j = 0; j < Fragment<N>::kColumns; ++j) {
        const float4 y = *reinterpret_cast<const float4*>(b.at(column_of(j)) + k);
        sums.value[0][j] += x0.x * y.x + x0.y * y.y + x0.z * y.z + x0.w * y.w;
        sums.value[1][j] += x1.x * y.x + x1.y * y.y + x1.z * y.z + x1.w * y.w;
      }
    }
  } else {
    const int matrix = lane() / 8, row = lane() % 8;
    HG_UNROLL
    for (int k = 0; k < D; k += 16) {
      uint32_t x[4];
      load_matrices<false>(a.at(first + matrix % 2 * 8 + row) + k + matrix / 2 * 8, x);
      HG_UNROLL
      for (int n = 0; n < N; n += 16) {
        uint32_t y[4];
        load_matrices<false>(b.at(n + matrix / 2 * 8 + row) + k + matrix % 2 * 8, y);
        multiply_add<T>(sums, n / 4, x, y[0], y[1]);
        multiply_add<T>(sums, n / 4 + 2, x, y[2], y[3]);
      }
    }
  }
}

template <typename T, int D, int M, int N>
HG_DEVICE void multiply(Fragment<N>& sums, const Fragment<M>& a, const SharedRows<T, D, M>& b,
                        int first, int /*columns*/) {
  if constexpr (std::is_same_v<T, float>) {
    HG_UNROLL
    for (int i = 0; i < Fragment<M>::kColumns; ++i) {
#pragma unroll 1
      for (int owner = 0; owner < kThreadsOfRow; ++owner) {
        const int from = lane() / kThreadsOfRow * kThreadsOfRow + owner;
        const float x0 = __shfl_sync(0xFFFFFFFFU, a.value[0][i], from);
        const float x1 = __shfl_sync(0xFFFFFFFFU, a.value[1][i], from);
        const float* row = b.at(i / 2 * 8 + owner * 2 + i % 2) + first;
        HG_UNROLL
        for (int j = 0; j < Fragment<N>::kColumns; ++j) {
          const float y = row[column_of(j)];
          sums.value[0][j] += x0 * y;
          sums.value[1][j] += x1 * y;
        }
      }
    }
  } else {
    const int matrix = lane() / 8, row = lane() % 8;
    HG_UNROLL
    for (int k = 0; k < M; k += 16) {
      uint32_t x[4];
      operand_of<T>(a, k / 16, x);
      HG_UNROLL
      for (int n = 0; n < N; n += 16) {
        uint32_t y[4];
        load_matrices<true>(b.at(k + matrix % 2 * 8 + row) + first + n + matrix / 2 * 8, y);
        multiply_add<T>(sums, n / 4, x, y[0], y[1]);
        multiply_add<T>(sums, n / 4 + 2, x, y[2], y[3]);
      }
    }
  }
}

#else

/// sums[16, N] += a b^T: rows [first, first + 16) of `a`, all rows of `b`, over their first `depth`
/// columns. Columns from `depth` on are zeros.
template <typename T, int D, int R, int N>
void multiply_transposed(Fragment<N>& sums, const SharedRows<T, D, R>& a, int first,
                         const SharedRows<T, D, N>& b, int depth) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < N; ++j) {
      for (int k = 0; k < depth; ++k) {
        sums.value[i][j] += widen(a.at(first + i)[k]) * widen(b.at(j)[k]);
      }
    }
  }
}

/// sums[16, N] += a b, with `a` rounded to T. Uses columns [first, first + N) of `b`; columns from
/// `columns` on are zeros.
template <typename T, int D, int M, int N>
void multiply(Fragment<N>& sums, const Fragment<M>& a, const SharedRows<T, D, M>& b, int first,
              int columns) {
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < M; ++k) {
      const float x = round_as<T>(a.value[i][k]);
      for (int j = 0; j < N && first + j < columns; ++j) {
        sums.value[i][j] += x * widen(b.at(k)[first + j]);
      }
    }
  }
}

#endif

}  // namespace hirgen::tiles
