// The rows that the body of a fused kernel loads, folds (reduces) and stores. A body is a template
// over the kind of row:
//
//   RegisterRow  a thread keeps its elements of the row in registers, so each is read once
//   StreamedRow  each use reads the row from memory again; the row may have any length
//
// Operands in memory are dense, or Scattered: with a stride for each of the A axes of rows.
//
// The T threads that share the elements of a row are in one block, which may have several rows. On
// the CPU device, one thread processes the whole row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hirgen/kernels.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/thread_vector.hpp"

namespace hirgen {

/// The T threads that share a row: part of a warp, a warp, or a whole block.
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

  /// Folds the values x of all threads by fn, and returns the result in every thread. All T threads
  /// must call this.
  HG_HOST_DEVICE float fold([[maybe_unused]] ReduceFn fn, float x) {
    if constexpr (T == 1) return x;
#ifdef __CUDA_ARCH__
    x = fold_adjacent<(T < 32 ? T : 32)>(fn, x);
    if constexpr (T > 32) {
      // Folds alternate between two buffers. A thread that writes a buffer has passed the barrier
      // of the previous fold. All threads reached that barrier after they read this buffer.
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

  /// Folds the values x of each S adjacent threads, and returns the result in all of them. S is a
  /// power of two, at most 32 and at most T. All S threads must call this.
  template <int S>
  HG_HOST_DEVICE static float fold_adjacent([[maybe_unused]] ReduceFn fn, float x) {
#ifdef __CUDA_ARCH__
    unsigned sharing = ~0U;
    if constexpr (S < 32) {
      sharing = ((1U << S) - 1) << ((threadIdx.y * T + threadIdx.x) % 32 / S * S);
    }
    for (int apart = S / 2; apart > 0; apart /= 2) {
      x = folded(fn, x, __shfl_xor_sync(sharing, x, apart));
    }
#endif
    return x;
  }

  /// Returns fn(a, b).
  HG_HOST_DEVICE static float folded(ReduceFn fn, float a, float b) {
    float x[1] = {a};
    const float y[1] = {b};
    apply(fn, x, y);
    return x[0];
  }

 private:
  int turn_ = 0;
};

/// The position of a row in its operands. row: its number, from 0. first: index of its first
/// element in dense operands. columns: its length in elements. ahead: the distance in elements to
/// the row to prefetch, which this SM processes next (0: none). at: its index along each of the A
/// axes of rows, for Scattered operands. In runs of rows, `row` and `first` are 0 and not used. A
/// part of a row has the columns `from` to `columns` - 1.
template <int A>
struct RowPlace {
  int64_t row;
  int64_t first;
  int64_t columns;
  int64_t ahead;
  int64_t at[A + 1] = {};
  int64_t from = 0;

  template <typename V>
  HG_HOST_DEVICE V* start(V* data) const {
    return data + first;
  }
  template <typename V>
  HG_HOST_DEVICE V* start(const Scattered<V, A>& operand) const {
    return operand.data + offset(operand);
  }
  template <typename Operand>
  HG_HOST_DEVICE int64_t offset(const Operand& operand) const {
    int64_t sum = 0;
    HG_UNROLL
    for (int d = 0; d < A; ++d) sum += at[d] * operand.stride[d];
    return sum;
  }
  /// Returns the distance between columns, in elements.
  template <typename V>
  HG_HOST_DEVICE static int64_t step(V* /*data*/) {
    return 1;
  }
  template <typename V>
  HG_HOST_DEVICE static int64_t step(const Scattered<V, A>& operand) {
    return operand.stride[A];
  }

  /// Returns this row of an operand as an expression that reads memory again at each use. A dense
  /// operand of along() has a single row, which all rows use.
  template <typename V>
  HG_HOST_DEVICE Read<V> along(const V* data) const {
    return {data, 1};
  }
  template <typename V>
  HG_HOST_DEVICE Read<std::remove_const_t<V>> along(const Scattered<V, A>& operand) const {
    return {start(operand), operand.stride[A]};
  }
  HG_HOST_DEVICE Ramp along(const Counted<A>& operand) const {
    return {static_cast<int>(offset(operand)), static_cast<int>(operand.stride[A])};
  }
  HG_HOST_DEVICE Ramp load(const Counted<A>& operand) const { return along(operand); }
  /// Returns this row's element of an operand that has one element for each row.
  template <typename V>
  HG_HOST_DEVICE float value(const V* data) const {
    return widen(data[row]);
  }
  template <typename V>
  HG_HOST_DEVICE float value(const Scattered<V, A>& operand) const {
    return widen(*start(operand));
  }
  HG_HOST_DEVICE float value(const Counted<A>& operand) const {
    return static_cast<float>(offset(operand));
  }
  /// Returns the single element of an operand.
  template <typename V>
  HG_HOST_DEVICE static float single(const V* data) {
    return widen(*data);
  }
  /// Returns this row of a result that has one element for each block of B columns.
  template <int B, typename V>
  HG_HOST_DEVICE V* start_blocks(V* data) const {
    return data + first / B;
  }
  template <int B, typename V>
  HG_HOST_DEVICE V* start_blocks(const Scattered<V, A>& operand) const {
    return start(operand);
  }
  /// Returns the single element of an operand, without conversion to float.
  HG_HOST_DEVICE static int64_t seed(const Scattered<const int64_t, A>& operand) {
    return *operand.data;
  }

 protected:
  template <typename V>
  HG_HOST_DEVICE void put_at(V* out, float x) const {
    narrow(x, out[row]);
  }
  template <typename V>
  HG_HOST_DEVICE void put_at(const Scattered<V, A>& out, float x) const {
    narrow(x, *start(out));
  }
};

/// The number of adjacent threads that fold a block of B columns together, if T threads share a row
/// in accesses of W columns: one thread for each access of the block, or 1 if the block has more
/// accesses than a warp or a row has threads.
template <int B, int W, int T>
constexpr int kSharingOfBlock = B / W <= 32 && B / W <= T ? B / W : 1;

/// The folds of blocks of B columns of a StreamedRow, as an expression. kSharingOfBlock threads
/// fold a block together. If that number is 1, each thread folds the whole block.
template <int B, int T, Vector X>
struct FoldedBlocks {
  using Expression = void;
  ReduceFn fn;
  X x;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    constexpr int kSharing = kSharingOfBlock<B, W, T>;
    constexpr int64_t kColumns = B / kSharing;
    float result = identity_of(fn);
    const int64_t first = place.column / kColumns * kColumns;
    for (int64_t column = first; column < first + kColumns; column += W) {
      const ThreadVector<W> values = columns_of<W>(x, Place{place.access, column});
      HG_UNROLL
      for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, values.value[j]);
    }
    result = Threads<T>::template fold_adjacent<kSharing>(fn, result);
    ThreadVector<W> all;
    HG_UNROLL
    for (int j = 0; j < W; ++j) all.value[j] = result;
    return all;
  }
};

/// A row, part of a row, or a tile of dense operands, in registers. For each c < C, thread t has
/// the W elements from column `from` + (c * T + t) * W on.
template <int W, int C, int T, int A>
struct RegisterRow : RowPlace<A> {
  Threads<T> threads = {};
  HG_HOST_DEVICE explicit RegisterRow(const RowPlace<A>& place) : RowPlace<A>(place) {}

  using RowPlace<A>::load;
  /// Loads this row of an operand. All reads are issued before the first element is used.
  template <typename Operand>
  HG_HOST_DEVICE auto load(const Operand& operand) const {
    const auto* from = this->start(operand);
    Held<std::remove_cvref_t<decltype(*from)>, W, C> held = {};
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      if constexpr (W > 1) {
        held.packs[c] = pack_at<W>(from + place(c).column);
      } else {
        held.packs[c].value[0] = from[place(c).column * this->step(operand)];
      }
    }
    if constexpr (W > 1) fetch_ahead(operand);
    return held;
  }
  /// Evaluates x once and returns its values, so that a body can use them several times.
  template <Vector X>
  HG_HOST_DEVICE Kept<W, C> keep(const X& x) const {
    Kept<W, C> kept = {};
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (has(c)) kept.values[c] = columns_of<W>(x, place(c));
    }
    return kept;
  }

  template <typename Operand, Vector X>
  HG_HOST_DEVICE void store(const Operand& out, const X& x) const {
    auto* to = this->start(out);
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      const int64_t at = place(c).column * (W > 1 ? 1 : this->step(out));
      using To = std::remove_reference_t<decltype(*to)>;
      store_as<To, W>(to, at, columns_to_round<To, W>(x, place(c)).value);
    }
  }
  template <typename Operand>
  HG_HOST_DEVICE void put(const Operand& out, float x) const {
    if (threads.index() == 0 && this->from == 0) this->put_at(out, x);
  }

  template <Vector X>
  HG_HOST_DEVICE float fold(ReduceFn fn, const X& x) {
    float result = identity_of(fn);
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      if (!has(c)) continue;
      const ThreadVector<W> values = columns_of<W>(x, place(c));
      HG_UNROLL
      for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, values.value[j]);
    }
    return threads.fold(fn, result);
  }
  /// Folds each block of B columns. Returns the result of a block for each of its columns. B must
  /// divide the row and be a multiple of W.
  template <int B, Vector X>
  HG_HOST_DEVICE Uniform<C> fold_blocks(ReduceFn fn, const X& x) const {
    constexpr int kSharing = kSharingOfBlock<B, W, T>;
    constexpr int kChunks = B / W / kSharing;  // chunks of a thread in a block
    static_assert(B % W == 0 && (T == 1 || kChunks == 1));
    Uniform<C> blocks = {};
    HG_UNROLL
    for (int c = 0; c < C; c += kChunks) {
      float result = identity_of(fn);
      HG_UNROLL
      for (int k = c; k < C && k < c + kChunks; ++k) {
        if (!has(k)) continue;
        const ThreadVector<W> values = columns_of<W>(x, place(k));
        HG_UNROLL
        for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, values.value[j]);
      }
      result = Threads<T>::template fold_adjacent<kSharing>(fn, result);
      HG_UNROLL
      for (int k = c; k < C && k < c + kChunks; ++k) blocks.values[k] = result;
    }
    return blocks;
  }
  /// Stores one element of x for each block of B columns. In all columns of a block, x is the same.
  template <int B, typename Operand, Vector X>
  HG_HOST_DEVICE void put_blocks(const Operand& out, const X& x) const {
    auto* to = this->template start_blocks<B>(out);
    HG_UNROLL
    for (int c = 0; c < C; ++c) {
      const int64_t column = place(c).column;
      if (!has(c) || column % B != 0) continue;
      narrow(columns_of<W>(x, place(c)).value[0], to[column / B * this->step(out)]);
    }
  }

 private:
  /// Prefetches the row that is `ahead` elements after this row of a dense operand into the L2
  /// cache, so that memory is busy while this row is computed. Does nothing unless kHopper, or if
  /// rows do not start at multiples of 16 bytes, as a bulk prefetch requires.
  template <typename Operand>
  HG_HOST_DEVICE void fetch_ahead([[maybe_unused]] const Operand& operand) const {
#ifdef __CUDA_ARCH__
    if constexpr (kHopper && std::is_pointer_v<Operand>) {
      const auto bytes = static_cast<unsigned>(this->columns * int64_t{sizeof(*operand)});
      if (bytes % 16 != 0 || this->ahead == 0 || threads.index() != 0) return;
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                       __cvta_generic_to_global(this->start(operand) + this->ahead)),
                   "r"(bytes)
                   : "memory");
    }
#endif
  }

  HG_HOST_DEVICE Place place(int c) const {
    return {c, this->from + (int64_t{c} * T + threads.index()) * W};
  }
  HG_HOST_DEVICE bool has(int c) const { return place(c).column < this->columns; }
};

/// `length` adjacent rows along axis Along, of which this row is the first. The body computes
/// values that do not depend on the axis only once, from this row. The body must not fold: the
/// emitter uses runs only in kernels without reductions.
template <typename Row, int Along>
struct RunOfRows : Row {
  int64_t length;

  /// Calls body(row) for each row of the run.
  template <typename Body>
  HG_HOST_DEVICE void each(const Body& body) const {
    for (int64_t i = 0; i < length; ++i) {
      Row row(*this);
      row.at[Along] += i;
      body(row);
    }
  }
};

/// A row whose operands are read from memory again at each use, W elements per access.
template <int W, int T, int A>
struct StreamedRow : RowPlace<A> {
  Threads<T> threads = {};
  HG_HOST_DEVICE explicit StreamedRow(const RowPlace<A>& place) : RowPlace<A>(place) {}

  using RowPlace<A>::load;
  template <typename Operand>
  HG_HOST_DEVICE auto load(const Operand& operand) const {
    const auto* from = this->start(operand);
    return Read<std::remove_cvref_t<decltype(*from)>>{from, this->step(operand)};
  }
  /// Returns x itself, unevaluated: there are too few registers to keep its values.
  template <Vector X>
  HG_HOST_DEVICE X keep(const X& x) const {
    return x;
  }

  template <typename Operand, Vector X>
  HG_HOST_DEVICE void store(const Operand& out, const X& x) const {
    auto* to = this->start(out);
    for (int64_t column = begin(); column < this->columns; column += T * W) {
      const int64_t at = column * (W > 1 ? 1 : this->step(out));
      using To = std::remove_reference_t<decltype(*to)>;
      store_as<To, W>(to, at, columns_to_round<To, W>(x, Place{0, column}).value);
    }
  }
  template <typename Operand>
  HG_HOST_DEVICE void put(const Operand& out, float x) const {
    if (threads.index() == 0 && this->from == 0) this->put_at(out, x);
  }

  template <Vector X>
  HG_HOST_DEVICE float fold(ReduceFn fn, const X& x) {
    float result = identity_of(fn);
    for (int64_t column = begin(); column < this->columns; column += T * W) {
      const ThreadVector<W> values = columns_of<W>(x, Place{0, column});
      HG_UNROLL
      for (int j = 0; j < W; ++j) result = Threads<T>::folded(fn, result, values.value[j]);
    }
    return threads.fold(fn, result);
  }
  /// Returns the folds of blocks of B columns as an expression, which folds again at each use.
  template <int B, Vector X>
  HG_HOST_DEVICE auto fold_blocks(ReduceFn fn, const X& x) const {
    return FoldedBlocks<B, T, X>{fn, x};
  }
  template <int B, typename Operand, Vector X>
  HG_HOST_DEVICE void put_blocks(const Operand& out, const X& x) const {
    auto* to = this->template start_blocks<B>(out);
    for (int64_t column = begin(); column < this->columns; column += T * W) {
      // All threads that share a block of columns evaluate x, because they fold the block together.
      const float value = columns_of<W>(x, Place{0, column}).value[0];
      if (column % B == 0) narrow(value, to[column / B * this->step(out)]);
    }
  }

 private:
  HG_HOST_DEVICE int64_t begin() const { return this->from + threads.index() * int64_t{W}; }
};

}  // namespace hirgen
