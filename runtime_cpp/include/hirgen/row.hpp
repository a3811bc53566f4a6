// A row as the body of a fused kernel sees it: what it loads, folds and stores. A body is written
// once, for any of these:
//
//   RegisterRow  a thread has its elements of the row in registers, so each is read once
//   StreamedRow  the row is read again for each reduction: of any length, alignment and strides
//
// The threads of a block share a row. On the CPU device one thread has all of it.
#pragma once

#include <cstdint>

#include "hirgen/kernels.hpp"
#include "hirgen/lanes.hpp"

namespace hirgen {

/// The threads of a block that share a row, T of them: 32, or a whole block.
template <int T>
class Threads {
 public:
  HG_HOST_DEVICE int index() const {
#ifdef __CUDA_ARCH__
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }

  /// fn over the x of all threads, for each of them.
  HG_HOST_DEVICE float fold([[maybe_unused]] ReduceFn fn, float x) {
    if constexpr (T == 1) return x;
#ifdef __CUDA_ARCH__
    for (int apart = 16; apart > 0; apart /= 2) x = folded(fn, x, __shfl_xor_sync(~0U, x, apart));
    if constexpr (T > 32) {
      // Two buffers in turn: who writes one has passed the barrier behind the reads before.
      __shared__ float of_warps[2][T / 32];
      float (&partial)[T / 32] = of_warps[turn_];
      turn_ ^= 1;
      if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
      __syncthreads();
      x = partial[0];
      for (int warp = 1; warp < T / 32; ++warp) x = folded(fn, x, partial[warp]);
    }
#endif
    return x;
  }

  /// fn(a, b).
  HG_HOST_DEVICE static float folded(ReduceFn fn, float a, float b) {
    float x[1] = {a};
    const float y[1] = {b};
    apply(fn, x, y);
    return x[0];
  }

 private:
  int turn_ = 0;
};

/// `columns` elements of a row, or of a tile of one, of which thread t has W at (c T + t) W for
/// each c < C, in registers. `first` is where they start in a dense tensor.
template <int W, int C, int T>
struct RegisterRow {
  int64_t row;
  int64_t first;
  int64_t columns;
  Threads<T> threads = {};

  /// Elements of a tensor that has them all. All reads are under way before the first is used.
  template <typename V>
  HG_HOST_DEVICE Held<V, W, C> load(const V* data) const {
    Held<V, W, C> held = {};
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      held.packs[c] = *reinterpret_cast<const Pack<V, W>*>(data + first + place(c).column);
    }
    return held;
  }
  /// Elements that are the same for every row.
  template <typename V>
  HG_HOST_DEVICE Read<V> along(const V* data) const {
    return {data, 1};
  }
  /// The element that a tensor has for the row.
  template <typename V>
  HG_HOST_DEVICE float value(const V* data) const {
    return widen(data[row]);
  }
  /// What x is, computed once for all that read it.
  template <Vector X>
  HG_HOST_DEVICE Kept<W, C> keep(const X& x) const {
    Kept<W, C> kept = {};
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (has(c)) kept.values[c] = columns_of<W>(x, place(c));
    }
    return kept;
  }

  template <typename V, Vector X>
  HG_HOST_DEVICE void store(V* out, const X& x) const {
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      store_as<V, W>(out, first + place(c).column, columns_of<W>(x, place(c)).value);
    }
  }
  template <typename V>
  HG_HOST_DEVICE void put(V* out, float x) const {
    if (threads.index() == 0) narrow(x, out[row]);
  }

  template <Vector X>
  HG_HOST_DEVICE float fold(ReduceFn fn, const X& x) {
    float result = identity_of(fn);
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      const Lanes<W> lanes = columns_of<W>(x, place(c));
      HG_UNROLL
      for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, lanes.value[j]);
    }
    return threads.fold(fn, result);
  }

 private:
  HG_HOST_DEVICE Place place(int c) const { return {c, (int64_t{c} * T + threads.index()) * W}; }
  HG_HOST_DEVICE bool has(int c) const { return place(c).column < columns; }
};

/// A row that is read W elements at a time, once for each use. Of operands that are not dense,
/// `at` is its index along each of the `axes` before the last.
template <int W, int T>
struct StreamedRow {
  int64_t row;
  int64_t first;
  int64_t columns;
  int axes = 0;
  int64_t at[kMaxAxes] = {};
  Threads<T> threads = {};

  template <typename V>
  HG_HOST_DEVICE Read<V> load(const V* data) const {
    return {data + first, 1};
  }
  template <typename V>
  HG_HOST_DEVICE Read<V> load(const Scattered<const V>& operand) const {
    return {start(operand), operand.stride[axes]};
  }
  template <typename V>
  HG_HOST_DEVICE Read<V> along(const V* data) const {
    return {data, 1};
  }
  template <typename V>
  HG_HOST_DEVICE Read<V> along(const Scattered<const V>& operand) const {
    return load(operand);
  }
  template <typename V>
  HG_HOST_DEVICE float value(const V* data) const {
    return widen(data[row]);
  }
  template <typename V>
  HG_HOST_DEVICE float value(const Scattered<const V>& operand) const {
    return widen(*start(operand));
  }

  /// x itself: there is no room for it.
  template <Vector X>
  HG_HOST_DEVICE X keep(const X& x) const {
    return x;
  }

  template <typename V, Vector X>
  HG_HOST_DEVICE void store(V* out, const X& x) const {
    for (int64_t column = begin(); column < columns; column += T * W) {
      store_as<V, W>(out, first + column, columns_of<W>(x, Place{0, column}).value);
    }
  }
  template <typename V, Vector X>
  HG_HOST_DEVICE void store(const Scattered<V>& out, const X& x) const {
    for (int64_t column = begin(); column < columns; column += T) {
      narrow(columns_of<1>(x, Place{0, column}).value[0], start(out)[column * out.stride[axes]]);
    }
  }
  template <typename V>
  HG_HOST_DEVICE void put(V* out, float x) const {
    if (threads.index() == 0) narrow(x, out[row]);
  }
  template <typename V>
  HG_HOST_DEVICE void put(const Scattered<V>& out, float x) const {
    if (threads.index() == 0) narrow(x, *start(out));
  }

  template <Vector X>
  HG_HOST_DEVICE float fold(ReduceFn fn, const X& x) {
    float result = identity_of(fn);
    for (int64_t column = begin(); column < columns; column += T * W) {
      const Lanes<W> lanes = columns_of<W>(x, Place{0, column});
      HG_UNROLL
      for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, lanes.value[j]);
    }
    return threads.fold(fn, result);
  }

 private:
  HG_HOST_DEVICE int64_t begin() const { return threads.index() * int64_t{W}; }
  template <typename V>
  HG_HOST_DEVICE V* start(const Scattered<V>& operand) const {
    int64_t offset = 0;
    for (int d = 0; d < axes; ++d) offset += at[d] * operand.stride[d];
    return operand.data + offset;
  }
};

}  // namespace hirgen
