// Tests of the index arithmetic of fused kernels around 2^31 and 2^32. They run single blocks on
// sparse memory, since dense memory for so many elements would be too large.
#include "extents.hpp"

#include "hirgen/columns.hpp"
#include "hirgen/fused.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/row_exchange.hpp"
#include "hirgen/turned.hpp"

namespace {

using namespace math_test;
namespace fn = hirgen::fn;
using bf16 = __nv_bfloat16;

/// A kernel body that stores the position of its row.
template <int A>
struct Note {
  hirgen::RowPlace<A>* place;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    *place = row;
  }
};

/// Tests RowBlock, which block_kernel runs, and Rows::find, for kernels that count rows in the type
/// Index.
template <typename Index>
void test_rows(const std::vector<int64_t>& extents) {
  constexpr int64_t kColumns = 6;
  hirgen::RowPlace<2> place{};
  const hirgen::Rows<2> rows{extents[0], extents[1]};
  using Row = hirgen::RegisterRow<2, 3, 1, 2>;
  const hirgen::RowBlock<Note<2>, Row, 1, kColumns, 2, Index> block{
      {&place}, rows.template count_by<Index>("test"), rows, 0};
  std::vector<int64_t> indices = long_numbers(1);
  indices.push_back(block.count - 1);
  for (const int64_t index : indices) {
    if (index >= block.count) continue;
    block(index);
    const std::vector<Wide> at = unravel(index, extents);
    expect(place.at[0] == at[0] && place.at[1] == at[1] && place.row == index &&
               place.first == Wide{index} * kColumns,
           name_of("row of " + std::to_string(extents[0]) + " x " + std::to_string(extents[1]),
                   index));
  }
}

void test_rows_of_any_extent() {
  constexpr int64_t kMost = int64_t{1} << 32;
  for (const int64_t extent : long_numbers(2)) {
    if (extent < 1) continue;
    for (const std::vector<int64_t>& extents :
         {std::vector<int64_t>{extent, 3}, {3, extent}, {1, extent}, {extent, 1025}}) {
      test_rows<uint64_t>(extents);
      const Wide all = Wide{extents[0]} * extents[1];
      if (all < kMost) test_rows<uint32_t>(extents);
    }
  }
}

/// Tests PartBlock, which block_kernel runs, with parts of 1000 columns of rows of 3500.
void test_parts_of_rows() {
  constexpr int64_t kColumns = 3500, kPart = 1000;
  hirgen::RowPlace<1> place{};
  using Row = hirgen::StreamedRow<1, 1, 1>;
  for (const int64_t rows : long_numbers(1)) {
    if (rows < 1) continue;
    using Block = hirgen::PartBlock<Note<1>, Row, kColumns, kPart, 1, uint64_t>;
    const Block block{{&place}, {rows}};
    for (const int64_t part : {int64_t{0}, int64_t{1}, Block::kParts - 1}) {
      block((rows - 1) * Block::kParts + part);
      expect(place.row == rows - 1 && place.at[0] == rows - 1 &&
                 place.first == (Wide{rows} - 1) * kColumns && place.from == part * kPart &&
                 place.columns == std::min(kColumns, (part + 1) * kPart),
             name_of("part of a row", rows));
    }
  }
}

/// A kernel that counts rows in 32 bits refuses 2^32 rows, and a grid refuses 2^31 blocks.
void test_refusal() {
  for (const int64_t rows : edges()) {
    bool threw = false;
    try {
      hirgen::Rows<1>{rows}.count_by<uint32_t>("spec.yaml:3:1");
    } catch (const hirgen::Error& error) {
      threw = std::string(error.what()).find("spec.yaml:3:1") == 0;
    }
    expect(threw == (rows >= int64_t{1} << 32), name_of("refusal of rows", rows));
    threw = false;
    try {
      expect(hirgen::grid_of(rows, "spec.yaml:3:1") == rows, name_of("grid", rows));
    } catch (const hirgen::Error&) {
      threw = true;
    }
    expect(threw == (rows >= int64_t{1} << 31), name_of("refusal of blocks", rows));
  }
}

/// Tests RunBlock, which block_kernel runs, with runs of up to 4 rows.
void test_runs() {
  for (const int64_t extent : long_numbers(3)) {
    constexpr int64_t kLength = 4;
    if (extent < 1) continue;
    const int64_t runs = (extent + kLength - 1) / kLength;
    std::vector<Wide> found;
    const auto note = [&](const auto& run) {
      run.each([&](const auto& row) { found = {row.at[0], row.at[1]}; });
    };
    using Row = hirgen::RegisterRow<1, 2, 1, 2>;
    const hirgen::RunBlock<decltype(note), Row, 1, 2, 2, 1, uint64_t> block{
        note, 3 * runs, hirgen::Rows<2>{3, runs}, extent, kLength};
    for (const int64_t index : {runs - 1, runs, 3 * runs - 1}) {
      block(index);
      const Wide last = std::min<Wide>((Wide{index % runs} + 1) * kLength, extent) - 1;
      expect(found == std::vector<Wide>{index / runs, last}, name_of("run of rows", index));
    }
  }
}

/// Tests TileBlock, which block_kernel runs.
void test_tiles() {
  hirgen::RowPlace<0> place{};
  using Tile = hirgen::TileBlock<Note<0>, 8, 4, 1>;
  for (const int64_t index : long_numbers(4)) {
    const Tile tile{{&place}, int64_t{1} << 40};
    tile(index);
    expect(place.first == Wide{index} * Tile::kElements &&
               place.columns == tile.elements - place.first,
           name_of("tile", index));
  }
}

/// A kernel body that notes the last row and column of the pieces of a TurnedBlock, and stores
/// marks.
struct NotePiece {
  int64_t *row, *column;
  hirgen::Scattered<int8_t, 1> out;
  template <typename Piece>
  HG_HOST_DEVICE void operator()(Piece& piece) const {
    *row = std::max(*row, piece.row);
    *column = std::max(*column, piece.column);
    piece.store(out, hirgen::ThreadVector<1>{{7}});
  }
};

/// Tests TurnedBlock, which block_kernel runs: the last tile of few rows and many columns, and of
/// many rows and few columns.
void test_turned() {
  for (const int64_t extent : long_numbers(5, 20)) {
    if (extent < 1) continue;
    for (const auto& [rows, columns] :
         {std::pair{int64_t{3}, extent}, std::pair{extent, int64_t{3}}}) {
      const Sparse<int8_t> memory(rows * columns);
      const hirgen::Scattered<int8_t, 1> out{memory.get(), {columns, 1}};
      int64_t row = 0, column = 0;
      using Block = hirgen::TurnedBlock<NotePiece, int8_t, 1>;
      const Block block{{&row, &column, out}, out, rows, columns, false};
      block(block.tiles() - 1);
      expect(row == rows - 1 && column == (columns - 1) / 4 * 4 &&
                 memory[Wide{rows} * columns - 1] == 7,
             name_of("tile of " + std::to_string(rows) + " rows", columns));
    }
  }
}

/// Tests in_parts() and BlocksFrom, which split a launch into several grids.
void test_parts() {
  for (const int64_t blocks : {int64_t{5}, int64_t{6}, int64_t{7}, int64_t{13}}) {
    std::vector<int64_t> called;
    const auto block = [&](int64_t i) { called.push_back(i); };
    hirgen::in_parts(
        blocks, block,
        [](int64_t count, const auto& part) {
          for (int64_t i = 0; i < count; ++i) part(i);
        },
        6);
    expect(static_cast<int64_t>(called.size()) == blocks && called.back() == blocks - 1,
           name_of("parts of blocks", blocks));
  }
  int64_t all = 0, last = 0;
  hirgen::in_parts(
      int64_t{5} << 31, [&](int64_t i) { last = i; },
      [&](int64_t count, const auto& part) {
        all += count;
        part(count - 1);
      });
  expect(all == int64_t{5} << 31 && last == all - 1, "parts of more blocks than a grid has");
}

struct Neg {
  hirgen::Scattered<bf16, 1> Y;
  hirgen::Scattered<const bf16, 1> U;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(Y, fn::neg(row.load(U)));
  }
};

/// Tests a kernel that reads and writes: it negates the last two of the three columns of X.
template <typename Row>
void test_scattered() {
  const int64_t rows = int64_t{1} << 34;
  const Sparse<bf16> X(3 * rows), Y(2 * rows);
  const Neg body{{Y.get(), {2, 1}}, {X.get() + 1, {3, 1}}};
  const hirgen::RowBlock<Neg, Row, 1, 2, 1, uint64_t> block{body, rows, {rows}, 0};
  for (const int64_t row : long_numbers(5)) {
    expect_element(name_of("element of a row", row), X[Wide{row} * 3 + 2], Y[Wide{row} * 2 + 1],
                   -3.0F, [&] { block(row); });
  }
}

struct Columns {
  hirgen::Scattered<const bf16, 1> a;
  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    return fn::neg(row.load(a));
  }
};

/// Tests ColumnFold with many rows, on single slices, and with many columns, on whole columns.
void test_columns() {
  const int64_t count = int64_t{1} << 34;
  const Sparse<bf16> in(2 * count);
  const Sparse<float> out(2 * count);
  using hirgen::ReduceFn;
  for (const int64_t i : long_numbers(6)) {
    float x[1] = {};
    const hirgen::ColumnFold<ReduceFn::kSum, Columns, float*, 1, 1, uint64_t> rows{
        out.get(), {{in.get(), {2, 1}}}, 2, count, {count}};
    expect_element(name_of("row that is folded", i), in[Wide{i} * 2 + 1], out[0], -3.0F, [&] {
      rows.value(rows.start(1), rows.read(rows.start(1), i), x);
      out[0] = x[0];
    });
    const hirgen::ColumnFold<ReduceFn::kSum, Columns, float*, 1, 1, uint32_t> columns{
        out.get(), {{in.get(), {count, 1}}}, count, 2, {2}};
    expect_element(name_of("column that is folded", i), in[Wide{count} + i], out[Wide{i}], -3.0F,
                   [&] { hirgen::FoldAlone<decltype(columns)>{columns}(i); });
  }
}

/// Tests rows_of(), which returns the rows that a block of exchange_kernel sends, for the last
/// block.
void test_exchanged_rows() {
  constexpr int64_t kPerBlock = 4;
  constexpr size_t kBytes = 6;
  for (const int64_t rows : long_numbers(4)) {
    if (rows < 1) continue;
    const int64_t last = (rows - 1) / kPerBlock;
    const hirgen::BlockOfRows block = hirgen::rows_of(last, kPerBlock, rows, kBytes);
    expect(block.first == Wide{last} * kPerBlock && block.first + block.count == rows &&
               block.start == Wide{last} * kPerBlock * kBytes &&
               block.bytes == Wide{block.count} * kBytes,
           name_of("last block of rows that are exchanged", rows));
  }
}

}  // namespace

int main() {
  return run("extents of fused kernels",
             {test_rows_of_any_extent, test_parts_of_rows, test_refusal, test_runs, test_tiles,
              test_turned, test_parts, test_scattered<hirgen::RegisterRow<1, 2, 1, 1>>,
              test_scattered<hirgen::StreamedRow<1, 1, 1>>, test_columns, test_exchanged_rows});
}
