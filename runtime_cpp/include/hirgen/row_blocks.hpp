// The blocks of fused kernels: each runs a body on a tile of elements, on rows, on runs of rows, or
// on a part of a row. Include this from .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>

#include "hirgen/blocks.hpp"
#include "hirgen/error.hpp"
#include "hirgen/row.hpp"

namespace hirgen {

/// A block of launch_elements(): runs the body on a tile of C * T * W elements of dense operands.
/// Each of T threads has C chunks of W elements.
template <typename Body, int W, int C, int T>
struct TileBlock {
  static constexpr int64_t kElements = int64_t{W} * C * T;
  Body body;
  int64_t elements;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t first = block * kElements;
    RegisterRow<W, C, T, 0> row({0, first, elements - first, 0});
    body(row);
  }
};

/// The extents of the A axes along which the rows of a kernel are numbered.
template <int A>
struct Rows {
  int64_t extent[A + 1] = {1};

  /// Takes A extents, or the number of rows if A is 0. std::min() bounds the copy: without it,
  /// compilers warn about a possible overflow if they do not see the caller.
  Rows(std::initializer_list<int64_t> extents) {
    std::copy_n(extents.begin(), std::min(extents.size(), std::size(extent)), extent);
  }
  int64_t count() const {
    return std::accumulate(extent, extent + std::max(A, 1), int64_t{1}, std::multiplies<>());
  }
  /// Returns count(). Throws Error(kInternal) if type Index cannot represent it.
  template <typename Index>
  int64_t count_by(const char* where) const {
    const int64_t rows = count();
    if (static_cast<uint64_t>(rows) > std::numeric_limits<Index>::max()) {
      throw Error(Code::kInternal, std::string(where) + ": a kernel has " + std::to_string(rows) +
                                       " rows, and counts them in 32 bits");
    }
    return rows;
  }
  /// Sets at[d] to the index along axis d of row number `row`; the last axis varies fastest.
  template <typename Index>
  HG_HOST_DEVICE void find(int64_t row, int64_t (&at)[A + 1]) const {
    auto outer = static_cast<Index>(row);
    HG_UNROLL
    for (int d = A - 1; d >= 0; --d) {
      const auto along = static_cast<Index>(extent[d]);
      at[d] = static_cast<int64_t>(outer % along);
      outer /= along;
    }
  }
};

/// A block of launch_by() if Along < 0: runs the body on kRows rows of `Columns` columns, with T
/// threads for each row. Row is RegisterRow or StreamedRow.
template <typename Body, typename Row, int T, int64_t Columns, int A, typename Index>
struct RowBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> rows;
  int64_t ahead;  ///< distance in rows to the row to prefetch; 0: no prefetch

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= count) return;
    RowPlace<A> place{index, index * Columns, Columns, index + ahead < count ? ahead * Columns : 0};
    rows.template find<Index>(index, place.at);
    Row row(place);
    body(row);
  }
};

/// A block of launch_by() if Along >= 0: runs the body on kRows runs of rows (RunOfRows). Each run
/// has up to `length` rows that are adjacent along axis `Along`.
template <typename Body, typename Row, int T, int64_t Columns, int A, int Along, typename Index>
struct RunBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> runs;
  int64_t along;  ///< number of rows along axis `Along`
  int64_t length;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= count) return;
    RowPlace<A> place{0, 0, Columns, 0};
    runs.template find<Index>(index, place.at);
    int64_t& first = place.at[Along];
    first *= length;
    RunOfRows<Row, Along> run{Row(place), along - first < length ? along - first : length};
    body(run);
  }
};

/// A block of launch_parts(): runs the body on one part of a row. A row has `Columns` columns, and
/// a part has `Part` columns or, at the end of the row, fewer.
template <typename Body, typename Row, int64_t Columns, int64_t Part, int A, typename Index>
struct PartBlock {
  static constexpr int64_t kParts = (Columns + Part - 1) / Part;
  Body body;
  Rows<A> rows;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t row = block / kParts, from = block % kParts * Part;
    RowPlace<A> place{row, row * Columns, from + Part < Columns ? from + Part : Columns, 0};
    rows.template find<Index>(row, place.at);
    place.from = from;
    Row part(place);
    body(part);
  }
};

}  // namespace hirgen
