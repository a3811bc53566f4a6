// Launches of fused kernels that transpose: elements that are adjacent in the operand are in
// adjacent rows of the result. A block computes a tile of the result and collects it in shared
// memory, so that both its reads and its writes are whole sectors. Include this from .cu files
// only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hirgen/fused.hpp"

namespace hirgen {

/// The number of adjacent columns of a row that a thread computes. In 8 bits, they are one word.
constexpr int kTurnedColumns = 4;

/// W adjacent rows and up to kTurnedColumns adjacent columns, the argument of a body. An access to
/// the operand has W elements of one column. Values are a ThreadVector with an element for each
/// row.
template <typename Out, int W>
struct TurnedPiece {
  int64_t row, column;  ///< the first ones
  int columns;          ///< how many of the columns exist
  Pack<Out, kTurnedColumns> results[W] = {};

  HG_HOST_DEVICE TurnedPiece(int64_t first_row, int64_t first_column, int count)
      : row(first_row), column(first_column), columns(count) {}

  /// Loads this piece of an operand whose rows are adjacent. Past the last column, it reads the
  /// last column again: with a branch, the compiler would delay the reads.
  template <typename V>
  HG_HOST_DEVICE auto load(const Scattered<V, 1>& operand) const {
    Held<std::remove_const_t<V>, W, kTurnedColumns> held;
    HG_UNROLL
    for (int c = 0; c < kTurnedColumns; ++c) {
      const int64_t at = column + (c < columns ? c : columns - 1);
      held.packs[c] = pack_at<W>(operand.data + row + at * operand.stride[1]);
    }
    return held;
  }
  /// Returns the elements of these rows of an operand that has one element for each row.
  template <typename V>
  HG_HOST_DEVICE ThreadVector<W> value(const Scattered<V, 1>& operand) const {
    ThreadVector<W> x;
    HG_UNROLL
    for (int j = 0; j < W; ++j) x.value[j] = widen(operand.data[(row + j) * operand.stride[0]]);
    return x;
  }

  template <Vector X>
  HG_HOST_DEVICE void store(const Scattered<Out, 1>& /*out*/, const X& x) {
    float values[W][kTurnedColumns];
    HG_UNROLL
    for (int c = 0; c < kTurnedColumns; ++c) {
      const ThreadVector<W> of_column = columns_to_round<Out, W>(x, Place{c, column + c});
      HG_UNROLL
      for (int j = 0; j < W; ++j) values[j][c] = of_column.value[j];
    }
    HG_UNROLL
    for (int j = 0; j < W; ++j) narrow_all(values[j], results[j]);
  }
  /// Stores one element for each row. Of the pieces of a row, only the first does.
  template <typename V>
  HG_HOST_DEVICE void put(const Scattered<V, 1>& out, const ThreadVector<W>& x) const {
    if (column != 0) return;
    HG_UNROLL
    for (int j = 0; j < W; ++j) narrow(x.value[j], out.data[(row + j) * out.stride[0]]);
  }
};

/// A block of launch_turned(): a tile of `kRows` x `kColumns` elements of `out`. A word has
/// kTurnedColumns elements of a row.
template <typename Body, typename Out, int W>
struct TurnedBlock {
  static_assert(sizeof(Out) == 1);
  static constexpr int kThreads = 256;
  static constexpr int kAcross = W > 1 ? 8 : 32;  // 8 accesses of 16 bytes are four sectors
  static constexpr int kRows = kAcross * W;
  static constexpr int kColumns = 128;
  static constexpr int kWords = kColumns / kTurnedColumns;
  static constexpr int kStored = 16;         // bytes of a row that a thread stores at once
  using Tile = uint32_t[kRows][kWords + 1];  // an odd length, against conflicts of banks

  Body body;
  Scattered<Out, 1> out;
  int64_t rows, columns;
  bool wide;  ///< whether all rows of `out` start at multiples of kStored bytes

  HG_HOST_DEVICE int64_t tiles() const {
    return tiles_of(rows, kRows) * tiles_of(columns, kColumns);
  }
  HG_HOST_DEVICE void operator()(int64_t block) const {
    // Adjacent blocks read adjacent memory. A grid has fewer than 2^32 blocks.
    const auto along = static_cast<uint32_t>(tiles_of(rows, kRows));
    const auto index = static_cast<uint32_t>(block);
    const int64_t row = int64_t{index % along} * kRows, column = int64_t{index / along} * kColumns;
#ifdef __CUDA_ARCH__
    __shared__ Tile tile;
    compute(row, column, static_cast<int>(threadIdx.x), tile);
    __syncthreads();
    store(row, column, static_cast<int>(threadIdx.x), tile);
#else
    Tile tile;
    for (int thread = 0; thread < kThreads; ++thread) compute(row, column, thread, tile);
    for (int thread = 0; thread < kThreads; ++thread) store(row, column, thread, tile);
#endif
  }

 private:
  HG_HOST_DEVICE static int64_t tiles_of(int64_t extent, int64_t size) {
    return (extent + size - 1) / size;
  }

  /// Computes a thread's share of the tile whose first element is in this row and column.
  HG_HOST_DEVICE void compute(int64_t row, int64_t column, int thread, Tile& tile) const {
    for (int i = thread; i < kAcross * kWords; i += kThreads) {
      const int at = i % kAcross * W, word = i / kAcross;
      const int64_t left = columns - column - word * kTurnedColumns;
      if (row + at >= rows || left <= 0) continue;
      TurnedPiece<Out, W> piece(row + at, column + word * kTurnedColumns,
                                static_cast<int>(left < kTurnedColumns ? left : kTurnedColumns));
      body(piece);
      HG_UNROLL
      for (int j = 0; j < W; ++j) memcpy(&tile[at + j][word], &piece.results[j], sizeof(uint32_t));
    }
  }

  /// Stores a thread's share of the tile.
  HG_HOST_DEVICE void store(int64_t row, int64_t column, int thread, const Tile& tile) const {
    constexpr int kParts = kColumns / kStored;
    for (int i = thread; i < kRows * kParts; i += kThreads) {
      const int at = i / kParts, first = i % kParts * kStored;
      const int64_t left = columns - column - first;
      if (row + at >= rows || left <= 0) continue;
      uint32_t words[kStored / kTurnedColumns];
      HG_UNROLL
      for (int k = 0; k < kStored / kTurnedColumns; ++k)
        words[k] = tile[at][first / kTurnedColumns + k];
      Pack<Out, kStored> part;
      memcpy(&part, words, sizeof(part));
      Out* const to = out.data + (row + at) * out.stride[0] + column + first;
      if (wide && left >= kStored) {
        store_pack(to, part);
      } else {
        for (int c = 0; c < kStored && c < left; ++c) to[c] = part.value[c];
      }
    }
  }
};

/// Enqueues the body on `rows` rows of `Columns` columns of `out`, whose columns are adjacent. In
/// the operand `in`, the rows are adjacent, and all other operands have one element for each row.
/// The body divides the elements of `in` by a number of their row.
template <int64_t Columns, typename Body, typename Out, typename In>
void launch_turned(const Body& body, const Scattered<Out, 1>& out, const Scattered<In, 1>& in,
                   const Rows<1>& rows, cudaStream_t stream, const char* where) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(In));
  const int64_t count = rows.count();
  const auto launch = [&](auto block) {
    block.wide = aligned(out);
    launch_blocks<decltype(block)::kThreads, 1, uint32_t>(block.tiles(), block, stream, where);
  };
  if (aligned(in.data) && in.stride[1] % kWidth == 0 && count % kWidth == 0) {
    launch(TurnedBlock<Body, Out, kWidth>{body, out, count, Columns, false});
  } else {
    launch(TurnedBlock<Body, Out, 1>{body, out, count, Columns, false});
  }
}

}  // namespace hirgen
