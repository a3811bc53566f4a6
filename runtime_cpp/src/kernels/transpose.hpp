// Copies that transpose: the elements that are adjacent in the source are apart in the result.
#pragma once

#include <utility>

#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/views.hpp"

namespace hirgen {

/// Copies squares of W x W elements, with accesses of 16 bytes: a thread reads W rows of the source
/// and writes W rows of the result.
template <typename T, int W>
struct TransposeKernel {
  T* out;
  const T* in;
  int64_t out_row, in_row;  ///< elements between the rows of a square
  Walk<2> squares;          ///< over the first elements of the squares

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[2];
    squares.offsets(i, at);
    Pack<T, W> rows[W];
    HG_UNROLL
    for (int r = 0; r < W; ++r) rows[r] = pack_at<W>(in + at[1] + r * in_row);
    HG_UNROLL
    for (int c = 0; c < W; ++c) {
      Pack<T, W> row;
      HG_UNROLL
      for (int r = 0; r < W; ++r) row.value[r] = rows[r].value[c];
      store_pack(out + at[0] + c * out_row, row);
    }
  }
};

/// Returns the axis along which elements of the source are adjacent; -1 if the copy cannot be split
/// into squares of this axis and the last one. For such a split, elements of the result must be
/// adjacent along the last axis, and both extents must be multiples of W. If the pointers are
/// aligned to W elements, all squares must be, too.
template <int W>
int transposed_axis(const Walk<2>& walk) {
  const int last = walk.axes - 1;
  int axis = -1;
  for (int d = 0; d < last; ++d) {
    if (walk.stride[1][d] == 1) axis = d;
  }
  if (axis < 0 || walk.stride[0][last] != 1) return -1;
  for (int d = 0; d <= last; ++d) {
    const bool in_square = d == axis || d == last;
    if (in_square && walk.extent[d] % W != 0) return -1;
    if (d != last && walk.stride[0][d] % W != 0) return -1;
    if (d != axis && walk.stride[1][d] % W != 0) return -1;
  }
  return axis;
}

/// Copies a walk that has a transposed_axis(), if both pointers are aligned to 16 bytes. Otherwise
/// copies nothing and returns false.
///
/// A warp reads pieces of 4 squares along a row of the source, and writes pieces of 8 squares along
/// a row of the result, where extents allow it. Both are whole sectors of memory then.
template <typename T>
bool transpose(T* out, const T* in, const Walk<2>& walk, cudaStream_t stream, const char* where) {
  constexpr int kSide = 16 / sizeof(T);
  constexpr int64_t kAlongIn = 4, kAlongOut = 8;
  const int axis = transposed_axis<kSide>(walk), last = walk.axes - 1;
  if (axis < 0 || !aligned(out) || !aligned(in)) return false;
  TransposeKernel<T, kSide> kernel{out, in, walk.stride[0][axis], walk.stride[1][last], walk};
  Walk<2>& squares = kernel.squares;
  for (const int d : {axis, last}) {
    squares.extent[d] /= kSide;
    for (auto& strides : squares.stride) strides[d] *= kSide;
  }
  const bool grouped = walk.axes + 2 <= kMaxAxes && squares.extent[axis] % kAlongIn == 0 &&
                       squares.extent[last] % kAlongOut == 0;
  if (grouped) {
    for (const auto& [d, count] : {std::pair{axis, kAlongIn}, std::pair{last, kAlongOut}}) {
      const int inner = squares.axes++;
      squares.extent[inner] = count;
      squares.extent[d] /= count;
      for (auto& strides : squares.stride) {
        strides[inner] = strides[d];
        strides[d] *= count;
      }
    }
  }
  parallel_for(squares.elements(), stream, where, kernel);
  return true;
}

}  // namespace hirgen
