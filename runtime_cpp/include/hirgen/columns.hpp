// Launches of fused kernels that reduce along columns: each result folds (reduces) the values of
// one column over all rows. For each such kernel, an emitted program has a body: a struct of the
// operands whose call operator returns the values of some columns of one row. Include this from .cu
// files only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hirgen/fold.hpp"
#include "hirgen/fused.hpp"
#include "hirgen/row.hpp"
#include "hirgen/thread_vector.hpp"

namespace hirgen {

/// W columns of one row, the argument of a body. For an operand in memory, load() reads the
/// elements immediately and keeps them in registers, in the operand's element type. Arithmetic on
/// them builds expressions, which are evaluated after the reads of several rows have been issued.
template <int W, int A>
struct ColumnsOfRow : RowPlace<A> {
  Place place;
  HG_HOST_DEVICE ColumnsOfRow(const RowPlace<A>& row, Place columns)
      : RowPlace<A>(row), place(columns) {}

  using RowPlace<A>::load;
  template <typename Operand>
  HG_HOST_DEVICE auto load(const Operand& operand) const {
    const auto* from = this->start(operand);
    Held<std::remove_cvref_t<decltype(*from)>, W, 1> held;
    if constexpr (W > 1) {
      held.packs[0] = pack_at<W>(from + place.column);
    } else {
      held.packs[0].value[0] = from[place.column * this->step(operand)];
    }
    return held;
  }
  /// Evaluates x once and returns its values, so that a body can use them several times.
  template <Vector X>
  HG_HOST_DEVICE Kept<W, 1> keep(const X& x) const {
    return {{columns_of<W>(x, place)}};
  }
};

/// The Fold (fold.hpp) of a body's values over all rows. Each slice is a row, and a thread folds W
/// adjacent columns at once. Several threads may share the rows of these columns.
template <ReduceFn Fn, typename Body, typename Out, int W, int A, typename Index>
struct ColumnFold {
  static constexpr int kWidth = W;
  static constexpr ReduceFn fn = Fn;
  static constexpr bool adjacent = false;

  Out out;
  Body body;
  int64_t columns, count;
  Rows<A> rows;

  HG_HOST_DEVICE int64_t results() const { return columns; }
  HG_HOST_DEVICE Place start(int64_t i) const { return {0, i * W}; }
  HG_HOST_DEVICE auto read(Place start, int64_t row) const {
    RowPlace<A> place{row, row * columns, columns, 0};
    rows.template find<Index>(row, place.at);
    return body(ColumnsOfRow<W, A>(place, start));
  }
  template <typename Part>
  HG_HOST_DEVICE void value(Place start, const Part& part, float (&x)[W]) const {
    const ThreadVector<W> values = columns_of<W>(part, start);
    HG_UNROLL
    for (int j = 0; j < W; ++j) x[j] = values.value[j];
  }
  /// Stores the results with indices `result` to `result` + N - 1, which are columns of `out`.
  /// `out` has a single row.
  template <int N>
  HG_HOST_DEVICE void store(int64_t result, const float (&sum)[N]) const {
    const RowPlace<A> place{0, 0, columns, 0};
    auto* to = place.start(out);
    for (int j = 0; j < N; ++j) narrow(sum[j], to[(result + j) * place.step(out)]);
  }
};

/// Enqueues out[c] = the fold by Fn of the body's values in column c over all rows, for each of
/// `columns` columns. As in launch_rows(), operands are dense, or have strides along the A axes of
/// rows (Scattered, Counted).
template <ReduceFn Fn, int A = 0, typename Out, typename Body, int W, int O, typename Index>
void launch_columns(const Out& out, const Body& body, int64_t columns, const Rows<A>& rows,
                    Accesses<W, O, Index> accesses, cudaStream_t stream, const char* where) {
  const int64_t count = rows.template count_by<Index>(where);
  if (accesses.aligned && columns % W == 0) {
    launch_fold(ColumnFold<Fn, Body, Out, W, A, Index>{out, body, columns, count, rows}, stream,
                where);
  } else {
    launch_fold(ColumnFold<Fn, Body, Out, 1, A, Index>{out, body, columns, count, rows}, stream,
                where);
  }
}

}  // namespace hirgen
