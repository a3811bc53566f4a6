// Index arithmetic of strided views, for kernels, for the generation of inputs and for the check.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hirgen/error.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {

/// N views with the same extents, whose elements a kernel visits together. append() merges adjacent
/// axes that are contiguous in every view, so that most walks have a single axis and need no
/// division.
template <int N>
struct Walk {
  int axes = 0;
  int64_t extent[kMaxAxes] = {};
  int64_t stride[N][kMaxAxes] = {};  ///< in elements, per view

  /// Returns the number of elements of the walk: the product of the extents.
  HG_HOST_DEVICE int64_t elements() const {
    int64_t product = 1;
    for (int d = 0; d < axes; ++d) product *= extent[d];
    return product;
  }

  /// Sets at[v] to the offset, in elements, that the element with row-major index i has in view v.
  HG_HOST_DEVICE void offsets(int64_t i, int64_t (&at)[N]) const {
    for (int v = 0; v < N; ++v) at[v] = 0;
    for (int d = axes - 1; d >= 0; --d) {
      const int64_t rest = d == 0 ? 0 : i / extent[d];
      const int64_t coordinate = i - rest * extent[d];
      for (int v = 0; v < N; ++v) at[v] += coordinate * stride[v][d];
      i = rest;
    }
  }

  /// Appends an innermost axis of `length` elements, which are step[v] elements apart in view v, or
  /// merges it with the last axis. Ignores axes of one element.
  void append(int64_t length, const std::array<int64_t, N>& step) {
    if (length == 1) return;
    bool merges = axes > 0;
    for (int v = 0; merges && v < N; ++v) merges = stride[v][axes - 1] == length * step[v];
    if (!merges) ++axes;
    extent[axes - 1] = merges ? extent[axes - 1] * length : length;
    for (int v = 0; v < N; ++v) stride[v][axes - 1] = step[v];
  }

  /// Returns whether the walk can be divided into groups of `width` elements that, in every view,
  /// are contiguous and start at a multiple of `width`. Group i has the elements from i * width to
  /// (i + 1) * width - 1. Returns false if there is only one element.
  bool divides(int64_t width) const {
    if (axes == 0 || extent[axes - 1] % width != 0) return false;
    for (int v = 0; v < N; ++v) {
      if (stride[v][axes - 1] != 1) return false;
      for (int d = 0; d + 1 < axes; ++d) {
        if (stride[v][d] % width != 0) return false;
      }
    }
    return true;
  }
};

/// The number of elements that a thread of a vectorised kernel processes per step. They fill one
/// access of 16 bytes for a 16-bit type, and two for fp32.
constexpr int kWidth = 8;

/// Returns the strides with which `operand` is read over the extents of `out`: the operand's
/// strides, but 0 for its axes of one element, which are broadcast. Throws Error(kInternal) if the
/// numbers of axes differ.
inline std::array<int64_t, kMaxAxes> strides_against(const Strided& out, const Strided& operand,
                                                     const char* where) {
  if (operand.axes != out.axes) {
    throw Error(Code::kInternal, std::string(where) + ": views of " + std::to_string(out.axes) +
                                     " and " + std::to_string(operand.axes) + " axes");
  }
  std::array<int64_t, kMaxAxes> strides{};
  for (int d = 0; d < out.axes; ++d) {
    if (operand.extent[d] != 1) strides[d] = operand.stride[d];
  }
  return strides;
}

/// Returns the walk over `views`, with the extents of the first view and without axis `skip` (-1:
/// with all axes). Throws Error(kInternal) if the numbers of axes differ.
template <int N>
Walk<N> walk_over(const std::array<const Strided*, N>& views, int skip, const char* where) {
  std::array<std::array<int64_t, kMaxAxes>, N> strides;
  for (int v = 0; v < N; ++v) strides[v] = strides_against(*views[0], *views[v], where);
  Walk<N> walk;
  for (int d = 0; d < views[0]->axes; ++d) {
    if (d == skip) continue;
    std::array<int64_t, N> step;
    for (int v = 0; v < N; ++v) step[v] = strides[v][d];
    walk.append(views[0]->extent[d], step);
  }
  return walk;
}

/// Returns whether the address is a multiple of 16.
inline bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace hirgen
