// A warp's part of a tile of scores or sums: 16 rows in registers, in the layout of the results of
// mma instructions (PTX ISA, "Matrix Fragments for mma.m16n8k16"). A thread has elements of
// `kSlots` rows, row_of(slot), in the columns column_of(j). On the CPU device a warp is one thread,
// which has all elements.
#pragma once

#include <cmath>
#include <cstdint>

#include "hirgen/host_device.hpp"

namespace hirgen::tiles {

/// Rows of a fragment: the m of mma.m16n8k16.
constexpr int kRows = 16;

#ifdef __CUDACC__

#define HG_DEVICE __device__ __forceinline__
constexpr int kWarps = 4;
constexpr int kLanes = 32;
constexpr int kSlots = 2;
constexpr int kThreadsOfRow = 4;
HG_DEVICE int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
HG_DEVICE int warp() { return static_cast<int>(threadIdx.x) / kLanes; }
HG_DEVICE int row_of(int slot) { return lane() / kThreadsOfRow + 8 * slot; }
HG_DEVICE int column_of(int j) { return j / 2 * 8 + lane() % kThreadsOfRow * 2 + j % 2; }
/// Waits for all threads of the block.
HG_DEVICE void barrier() { __syncthreads(); }
/// 2^x, by the GPU's approximate instruction.
HG_DEVICE float exp2_of(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Returns `x` of the thread whose lane index differs in the bits of `mask`. If mask <
/// kThreadsOfRow, both threads have elements of the same rows.
HG_DEVICE float exchanged(float x, int mask) { return __shfl_xor_sync(0xFFFFFFFFU, x, mask); }

#else

#define HG_DEVICE inline
constexpr int kWarps = 1;
constexpr int kLanes = 1;
constexpr int kSlots = kRows;
constexpr int kThreadsOfRow = 1;
inline int lane() { return 0; }
inline int warp() { return 0; }
inline int row_of(int slot) { return slot; }
inline int column_of(int j) { return j; }
inline void barrier() {}
inline float exp2_of(float x) { return std::exp2(x); }
inline float exchanged(float x, int /*mask*/) { return x; }

#endif

/// Query rows, or key rows, of a thread block: 16 for each warp.
constexpr int kBlockRows = kWarps * kRows;

/// This thread's elements of a warp's 16 rows of N columns.
template <int N>
struct Fragment {
  static constexpr int kColumns = N / kThreadsOfRow;
  float value[kSlots][kColumns];

  HG_DEVICE void clear() {
    HG_UNROLL
    for (int slot = 0; slot < kSlots; ++slot) {
      HG_UNROLL
      for (int j = 0; j < kColumns; ++j) value[slot][j] = 0;
    }
  }
  HG_DEVICE void scale(int slot, float by) {
    HG_UNROLL
    for (int j = 0; j < kColumns; ++j) value[slot][j] *= by;
  }

  /// The largest value of row row_of(slot), over all threads that have elements of it.
  HG_DEVICE float most(int slot) const {
    float result = -INFINITY;
    HG_UNROLL
    for (int j = 0; j < kColumns; ++j) result = fmaxf(result, value[slot][j]);
    HG_UNROLL
    for (int mask = 1; mask < kThreadsOfRow; mask *= 2) {
      result = fmaxf(result, exchanged(result, mask));
    }
    return result;
  }
  /// The sum of this thread's values of row row_of(slot); sum_of_row() adds the sums of the row's
  /// other threads.
  HG_DEVICE float sum(int slot) const {
    float result = 0;
    HG_UNROLL
    for (int j = 0; j < kColumns; ++j) result += value[slot][j];
    return result;
  }
};

HG_DEVICE float sum_of_row(float x) {
  HG_UNROLL
  for (int mask = 1; mask < kThreadsOfRow; mask *= 2) x += exchanged(x, mask);
  return x;
}

}  // namespace hirgen::tiles
