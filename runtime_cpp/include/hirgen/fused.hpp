// Launches of fused kernels. An emitted program has one kernel for each group of elementwise
// operations and reductions along rows (NAME_kernels.cu). The body of a kernel is a struct of the
// operands. Its call operator computes one row of the results (row.hpp), part of a row, a run of
// rows, or a tile of elements. Include this from .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hirgen/accesses.hpp"
#include "hirgen/blocks.hpp"
#include "hirgen/dropout.hpp"
#include "hirgen/row.hpp"
#include "hirgen/row_blocks.hpp"

namespace hirgen {

/// launch_parts() divides rows of more than kLongestRow columns. It divides rows of at least
/// kLeastPart columns, too, if it accesses one element at a time. Rows that are exchanged stay
/// whole.
constexpr int64_t kLeastPart = 1024, kLongestRow = 1 << 14;

/// Enqueues the body on all elements. Operands are dense and have `elements` elements each.
template <typename Body, int W, int O, typename Index>
void launch_elements(const Body& body, int64_t elements, Accesses<W, O, Index> accesses,
                     cudaStream_t stream, const char* where) {
  constexpr int kChunks = Accesses<W, O>::kAtOnce;
  const auto launch = [&](auto tile) {
    constexpr int64_t kElements = decltype(tile)::kElements;
    launch_blocks<kTileThreads, 1, Index>((elements + kElements - 1) / kElements, tile, stream,
                                          where);
  };
  if (accesses.aligned && elements % W == 0 && !few_elements(elements, where)) {
    launch(TileBlock<Body, W, kChunks, kTileThreads>{body, elements});
  } else {
    launch(TileBlock<Body, 1, kChunks, kTileThreads>{body, elements});
  }
}

/// Returns the number of rows of a run, from 1 to 4: the largest number that still leaves at least
/// twice as many runs as the GPU processes at once. Returns 1 if no number does, and 4 on the CPU
/// device, where rows_at_once is 0.
inline int64_t run_length(int64_t rows, int64_t rows_at_once) {
  constexpr int64_t kMost = 4;
  return rows_at_once == 0 ? kMost : std::clamp(rows / (2 * rows_at_once), int64_t{1}, kMost);
}

/// Enqueues the body on whole rows, for launch_rows() and launch_parts(), with accesses of W
/// elements. Chooses the number of threads for a row from `Each`, the preferred number of accesses
/// of a thread. Chooses RegisterRow if a thread's elements fit into registers, else StreamedRow. If
/// the body may reduce rows or blocks of a row (`Reduces`), W = 1 also requires StreamedRow.
template <int64_t Columns, int W, int Each, int Along, bool Reduces, typename Index, int A,
          typename Body, typename Exchange>
void launch_by(const Body& body, const Rows<A>& rows, cudaStream_t stream, const char* where,
               const Exchange& exchange) {
  constexpr int64_t kAccesses = Columns / W;
  constexpr int kMostThreads = row_threads(kAccesses, Each);
  constexpr int64_t kChunks = (kAccesses + kMostThreads - 1) / kMostThreads;
  constexpr bool kFits = (W > 1 || !Reduces) && kChunks <= kMostChunks;
  constexpr int kThreads = kFits ? kMostThreads : std::min(kMostThreads, kStreamedThreads);
  using Row = std::conditional_t<kFits, RegisterRow<W, static_cast<int>(kChunks), kThreads, A>,
                                 StreamedRow<W, kThreads, A>>;
  constexpr int kRows = rows_of_block(kThreads);
  const auto launch = [&](int64_t count, const auto& block) {
    exchange.template launch<kThreads, kRows, Index>((count + kRows - 1) / kRows, block, stream,
                                                     where);
  };
  const int64_t count = rows.template count_by<Index>(where);
  const int64_t at_once = kRows * blocks_at_once(kThreads * kRows, where);
  if constexpr (Along < 0) {
    const int64_t ahead = fetches_ahead(where) ? at_once : 0;
    launch(count, RowBlock<Body, Row, kThreads, Columns, A, Index>{body, count, rows, ahead});
  } else {
    const int64_t length = run_length(count, at_once), along = rows.extent[Along];
    Rows<A> runs = rows;
    runs.extent[Along] = (along + length - 1) / length;
    using Block = RunBlock<Body, Row, kThreads, Columns, A, Along, Index>;
    launch(runs.count(), Block{body, runs.count(), runs, along, length});
  }
}

/// Enqueues the body on each row. A dense operand has `Columns` elements for each row, a single row
/// that all rows use, or one element for each row or for all rows. A Scattered operand has strides
/// along the A axes of rows. If Along >= 0, the body takes runs of rows along that axis
/// (RunOfRows). With RowExchange::rows() as `exchange`, each block exchanges its rows of dense
/// operands with peers before the body runs.
template <int64_t Columns, int A = 0, int Along = -1, typename Body, int W, int O, typename Index,
          typename Exchange = NoExchange>
void launch_rows(const Body& body, const Rows<A>& rows, Accesses<W, O, Index> accesses,
                 cudaStream_t stream, const char* where, const Exchange& exchange = {}) {
  if constexpr (Columns % W == 0) {
    constexpr int kEach = Accesses<W, O>::kOfRow;
    if (accesses.aligned) {
      return launch_by<Columns, W, kEach, Along, true, Index>(body, rows, stream, where, exchange);
    }
  }
  launch_by<Columns, 1, 4, Along, true, Index>(body, rows, stream, where, exchange);
}

/// Enqueues the body on each part of each row. The body must not reduce rows or blocks of a row.
/// Several thread blocks share a row of more than kLongestRow columns. If there are few elements
/// (few_elements()), or rows are not aligned, they share a row of at least kLeastPart columns, so
/// that all SMs are busy. Operands and `exchange` are as in launch_rows(); rows that are exchanged
/// stay whole.
template <int64_t Columns, int A = 0, typename Body, int W, int O, typename Index,
          typename Exchange = NoExchange>
void launch_parts(const Body& body, const Rows<A>& rows, Accesses<W, O, Index> accesses,
                  cudaStream_t stream, const char* where, const Exchange& exchange = {}) {
  constexpr int kEach = Accesses<W, O>::kOfRow;
  constexpr bool kWhole = !std::is_same_v<Exchange, NoExchange>;
  // A whole row that is not kept in registers is read again and again, element by element.
  constexpr bool kAlwaysWide = kWhole && Columns > 1024 * kMostChunks;
  const int64_t count = rows.template count_by<Index>(where);
  const auto launch = [&](auto width, auto whole) {
    constexpr int kWidth = decltype(width)::value;
    if constexpr (decltype(whole)::value) {
      launch_by<Columns, kWidth, kWidth == 1 ? 4 : kEach, -1, false, Index>(body, rows, stream,
                                                                            where, exchange);
    } else {
      constexpr int64_t kPart = columns_of_part(kWidth, kEach);
      constexpr bool kFits = kPart == int64_t{kWidth} * kEach * kTileThreads;
      using Row = std::conditional_t<kFits, RegisterRow<kWidth, kEach, kTileThreads, A>,
                                     StreamedRow<kWidth, kTileThreads, A>>;
      using Block = PartBlock<Body, Row, Columns, kPart, A, Index>;
      launch_blocks<kTileThreads, 1, Index>(count * Block::kParts, Block{body, rows}, stream,
                                            where);
    }
  };
  if constexpr (Columns % W == 0) {
    if (accesses.aligned && (kAlwaysWide || !few_elements(count * Columns, where))) {
      constexpr bool kInRows = kWhole || Columns <= kLongestRow;
      return launch(std::integral_constant<int, W>(), std::bool_constant<kInRows>());
    }
  }
  constexpr bool kInRows = kWhole || Columns < kLeastPart;
  launch(std::integral_constant<int, 1>(), std::bool_constant<kInRows>());
}

}  // namespace hirgen
