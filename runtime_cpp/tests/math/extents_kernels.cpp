// Tests of the index arithmetic of the runtime's kernels around 2^31 and 2^32, like those in
// extents.cpp for fused kernels. They call the functors of the kernels for single elements. The
// sources of the functors are compiled into a namespace of this test.
#include "attention/method.hpp"
#include "attention/products.hpp"
#include "attention/shape.hpp"
#include "attention/tiled.hpp"
#include "attention/tiled_backward.hpp"
#include "attention/tiles.hpp"
#include "attention/zeros.hpp"
#include "check/bounds.hpp"
#include "check/bounds_numbers.hpp"
#include "check/reference_attention.hpp"
#include "check/reference_kernels.hpp"
#include "extents.hpp"
#include "hirgen/attention.hpp"
#include "hirgen/dropout.hpp"
#include "hirgen/fold.hpp"
#include "hirgen/placement.hpp"
#include "hirgen/row_copies.hpp"
#include "hirgen/views.hpp"
#include "kernels/add_elements.hpp"
#include "kernels/copy_elements.hpp"

namespace copy {
namespace hirgen {
using namespace ::hirgen;
namespace reference {
using namespace ::hirgen::reference;
}
namespace tiles {
using namespace ::hirgen::tiles;
}
}  // namespace hirgen
#include "attention/tiled_forward.cu"
#include "attention/zeros.cu"
#include "check/bounds.cu"
#include "check/bounds_of_sums.cu"
#include "check/bounds_of_tensors.cu"
#include "check/check.cu"
#include "check/fill.cu"
#include "check/reference_attention.cu"
#include "check/reference_kernels.cu"
#include "kernels/elementwise.cu"
#include "kernels/reduce.cu"
#include "kernels/row_copies.cu"
#include "kernels/top_k.cu"
}  // namespace copy

namespace {

using namespace math_test;
using bf16 = __nv_bfloat16;
namespace kernels = copy::hirgen;
namespace reference = copy::hirgen::reference;
constexpr int64_t kLong = int64_t{1} << 34;

/// Tests two ways to walk over views: Walk, which UnaryKernel, MoveKernel, BinaryKernel,
/// GatherKernel, TransposeKernel, Folding and Placement use, and offset_of, which BinaryElement,
/// BinaryBound, DropoutElement, GatherElement and ScatterElement use.
void test_walks() {
  for (const int64_t extent : long_numbers(11)) {
    if (extent < 1) continue;
    for (const std::vector<int64_t>& extents :
         {std::vector<int64_t>{3, extent, 2}, {extent, 5, 7}}) {
      const std::vector<int64_t> own = {extents[1] * extents[2] * 2, extents[2] * 2, 1};
      hirgen::Strided out = row_major(extents), in = out;
      std::copy(own.begin(), own.end(), in.stride);
      const auto walk = hirgen::walk_over<2>({&out, &in}, -1, "test");
      const Wide all = Wide{extents[0]} * extents[1] * extents[2];
      for (const Wide index : {all - 1, all / 2, all / 3, Wide{extent}, Wide{extent} - 1}) {
        int64_t at[2];
        const auto i = static_cast<int64_t>(index);
        walk.offsets(i, at);
        const Wide want = offset_at(index, extents, own);
        expect(at[0] == index && at[1] == want && walk.elements() == all, name_of("walk", i));
        expect(reference::offset_of(in, i) == want && reference::elements_of(in) == all,
               name_of("walk of the reference", i));
      }
    }
  }
}

/// Tests UnaryKernel, BinaryKernel, MoveKernel and TransposeKernel on the first two of three
/// columns, and PositionsKernel.
void test_elementwise() {
  const Sparse<bf16> in(3 * kLong), out(2 * kLong);
  const Sparse<int64_t> from(3 * kLong), to(2 * kLong);
  const Sparse<float> positions(kLong);
  const hirgen::Strided out_view{2, {kLong, 2}, {2, 1}}, in_view{2, {kLong, 2}, {3, 1}};
  const auto two = hirgen::walk_over<2>({&out_view, &in_view}, -1, "test");
  const auto three = hirgen::walk_over<3>({&out_view, &in_view, &in_view}, -1, "test");
  constexpr DType kType = DType::kBf16;
  const kernels::UnaryKernel<1> unary{
      hirgen::UnaryFn::kNeg, out.get(), in.get(), kType, kType, two};
  const kernels::BinaryKernel<1> binary{
      hirgen::BinaryFn::kAdd, out.get(), in.get(), in.get(), kType, kType, three};
  const kernels::MoveKernel<int64_t, 1> move{to.get(), from.get(), two};
  const kernels::TransposeKernel<int64_t, 1> transpose{to.get(), from.get(), 2, 3, two};
  for (const int64_t i : long_numbers(12)) {
    auto& x = in[Wide{i} / 2 * 3 + i % 2];
    expect_element(name_of("unary", i), x, out[i], -3.0F, [&] { unary(i); });
    expect_element(name_of("binary", i), x, out[i], 6.0F, [&] { binary(i); });
    expect_element(name_of("move", i), from[Wide{i} / 2 * 3 + i % 2], to[i], 3.0F,
                   [&] { move(i); });
    expect_element(name_of("transpose", i), from[Wide{i} / 2 * 3 + i % 2], to[i], 3.0F,
                   [&] { transpose(i); });
    kernels::PositionsKernel{positions.get(), 1}(i);
    expect(positions[i] == static_cast<float>(i + 1), name_of("position", i));
  }
}

/// Tests TopKAlone on rows of two elements, of which the second one is larger. top_k_kernel finds
/// rows in the same way.
void test_top_k() {
  constexpr int64_t kRows = kLong / 2;
  const Sparse<float> in(kLong), values(kRows);
  const Sparse<int32_t> positions(kRows);
  const hirgen::Strided selected{2, {kRows, 1}, {1, 1}}, rows{2, {kRows, 2}, {2, 1}};
  const auto walk = hirgen::walk_over<3>({&selected, &selected, &rows}, 1, "test");
  const kernels::TopKAlone<float> select{
      {values.get(), positions.get(), in.get(), 1, 2, {1, 1, 1}, walk}};
  for (const int64_t i : long_numbers(47)) {
    expect_element(name_of("top_k", i), in[Wide{i} * 2 + 1], values[i], 3.0F, [&] { select(i); });
    expect(positions[i] == 1, name_of("position of a top_k", i));
  }
}

/// Tests GatherKernel, which takes the rows in reverse order; RowElement, which takes rows 3 and 1
/// of each block of 4; and UnsureRow.
void test_gathers() {
  constexpr int64_t kRows = kLong / 2, kInner = kLong / 4;
  const Sparse<int64_t> table(kLong), out(kLong), ids(kRows);
  const hirgen::Strided out_view{3, {1, kRows, 2}, {0, 2, 1}},
      ids_view{3, {1, kRows, 2}, {0, 1, 0}}, table_view{3, {kRows, kRows, 2}, {2, 0, 1}};
  const auto walk = hirgen::walk_over<4>({&out_view, &table_view, &ids_view, &ids_view}, 0, "test");
  const kernels::GatherKernel<int64_t, 1, int64_t> gather{
      out.get(), table.get(), ids.get(), nullptr, kRows, 2, walk};
  const Sparse<float> blocks(2 * kLong), rows(kLong);
  const float numbers[2] = {3, 1};
  const reference::RowElement element{
      rows.get(), blocks.get(), {numbers, nullptr, 4, 2, kInner, kLong}};
  const float bounds[2] = {0, 1};
  const reference::UnsureRow unsure{rows.get(), bounds, element.rows};
  for (const int64_t i : long_numbers(19)) {
    const int64_t row = kRows - 1 - i / 2;
    ids[i / 2] = row;
    expect_element(name_of("gather", i), table[Wide{row} * 2 + i % 2], out[i], 3.0F,
                   [&] { gather(i); });
    const bool second = i / kInner % 2 != 0;
    rows[i] = 0;
    unsure(i);
    expect((rows[i] == INFINITY) == second, name_of("bound of a row", i));
    const Wide from = i / kInner / 2 * 4 + (i / kInner % 2 == 0 ? 3 : 1);
    expect_element(name_of("row of a block", i), blocks[from * kInner + i % kInner], rows[i], 3.0F,
                   [&] { element(i); });
  }
}

/// Tests Folding and FoldingAlong: many results of 8 slices by FoldAlone, and single slices of 8
/// results. fold_kernel reduces in the same way, from result first_of_block() on.
void test_folds() {
  const Sparse<bf16> in(8 * kLong), out(kLong);
  constexpr DType kType = DType::kBf16;
  const hirgen::Strided out_view{2, {kLong, 1}, {1, 1}}, in_view{2, {kLong, 8}, {8, 1}};
  const auto walk = hirgen::walk_over<2>({&out_view, &in_view}, 1, "test");
  const kernels::Folding<bf16, 1, kernels::Sum> folding{{}, out.get(), in.get(), kType,
                                                        8,  1,         true,     walk};
  const kernels::FoldingAlong<bf16, kernels::Sum> along{
      {{}, out.get(), in.get(), kType, 1, 8, true, walk}};
  const kernels::Folding<bf16, 1, kernels::Sum> down{{},    out.get(), in.get(), kType,
                                                     kLong, 8,         false,    {}};
  for (const int64_t i : long_numbers(13)) {
    const auto block = static_cast<unsigned>(std::clamp<int64_t>(i, 0, hirgen::kMostOfGrid));
    expect(hirgen::first_of_block(block, 4, 32) == Wide{block / 4} * 32, name_of("fold_kernel", i));
    expect_element(name_of("fold", i), in[Wide{i} * 8 + 7], out[i], 3.0F,
                   [&] { hirgen::FoldAlone<decltype(folding)>{folding}(i); });
    expect_element(name_of("fold along", i), in[Wide{i} * 8 + 7], out[i], 3.0F,
                   [&] { hirgen::FoldAlone<decltype(along)>{along}(i); });
    float x[1] = {};
    expect_element(name_of("slice of a fold", i), in[Wide{i} * 8], out[0], 3.0F, [&] {
      down.value(down.start(0), down.read(down.start(0), i), x);
      down.store(0, x);
    });
  }
}

/// Tests FillKernel, FillWholeKernel, CompareKernel, IntoWholeKernel and WidenKernel on the second
/// of two shards of each row.
void test_placements() {
  hirgen::TensorDesc desc;
  desc.axes = {{.extent = kLong}, {.extent = 4, .mesh_extent = 2, .mesh_coordinate = 1}};
  const hirgen::Placement placement = hirgen::placement_of(desc);
  const Sparse<float> whole(4 * kLong), local(2 * kLong);
  constexpr DType kType = DType::kFp32;
  const kernels::FillKernel<kernels::Lookup> fill{{whole.get()}, local.get(), kType, placement};
  const kernels::FillWholeKernel<kernels::Lookup> fill_whole{{local.get()}, whole.get(), kType};
  const kernels::IntoWholeKernel into{whole.get(), local.get(), kType, placement};
  const kernels::WidenKernel widen{whole.get(), local.get(), kType};
  for (const int64_t i : long_numbers(14)) {
    float &element = whole[Wide{i} / 2 * 4 + 2 + i % 2], &own = local[i];
    expect(placement.global(i) == Wide{i} / 2 * 4 + 2 + i % 2, name_of("global index", i));
    expect_element(name_of("fill", i), element, own, 3.0F, [&] { fill(i); });
    expect_element(name_of("whole fill", i), own, whole[i], 3.0F, [&] { fill_whole(i); });
    expect_element(name_of("shard into whole", i), own, element, 3.0F, [&] { into(i); });
    expect_element(name_of("widened", i), own, whole[i], 3.0F, [&] { widen(i); });
    kernels::Tally tally{};
    element = 1;
    kernels::CompareKernel{local.get(), whole.get(), nullptr, kType, placement, &tally}(i);
    element = 0;
    expect(tally.count == 1 && static_cast<int64_t>(~tally.inverse_first) == i,
           name_of("wrong element", i));
  }
}

/// Tests UnaryElement, BinaryElement, DropoutElement, ReduceElement, GatherElement and
/// ScatterElement.
void test_reference() {
  const Sparse<float> in(3 * kLong), out(3 * kLong), rows(kLong);
  const hirgen::Strided part{2, {kLong, 2}, {3, 1}};
  constexpr DType kType = DType::kFp32;
  const reference::UnaryElement unary{hirgen::UnaryFn::kNeg, out.get(), in.get(), kType};
  const reference::BinaryElement binary{
      hirgen::BinaryFn::kAdd, out.get(), in.get(), in.get(), part, part, kType};
  const reference::ReduceElement reduce{hirgen::ReduceFn::kSum, out.get(), in.get(), 3, 1, kType};
  const reference::ReduceElement down{hirgen::ReduceFn::kSum, out.get(), in.get(), 2, kLong, kType};
  const reference::GatherElement gather{out.get(), in.get(), part};
  const reference::ScatterElement scatter{out.get(), part, in.get()};
  const hirgen::Dropout none{};
  const reference::DropoutElement dropout{
      none,
      out.get(),
      {.x = in.get(), .column = rows.get(), .column_view = {1, {kLong}, {0}}, .row_view = {}},
      kType};
  for (const int64_t i : long_numbers(15)) {
    const Wide parted = Wide{i} / 2 * 3 + i % 2;
    expect_element(name_of("reference, unary", i), in[i], out[i], -3.0F, [&] { unary(i); });
    expect_element(name_of("reference, binary", i), in[parted], out[i], 6.0F, [&] { binary(i); });
    expect_element(name_of("reference, reduce", i), in[Wide{i} * 3 + 2], out[i], 3.0F,
                   [&] { reduce(i); });
    expect_element(name_of("reference, columns", i), in[Wide{kLong} + i], out[i], 3.0F,
                   [&] { down(i); });
    expect_element(name_of("reference, gather", i), in[parted], out[i], 3.0F, [&] { gather(i); });
    expect_element(name_of("reference, scatter", i), in[i], out[parted], 3.0F, [&] { scatter(i); });
    expect_element(name_of("reference, dropout", i), in[i], out[i], 3.0F, [&] { dropout(i); });
  }
}

/// Tests UnaryBound, BinaryBound, ReduceBound, ProductBound, RoundBound, AddSquares, AddSizes,
/// Rests, AddTo, Shake, WidenBound, AtLeast, ScaleBound, Overflow, LargestShare, AnyInfinite,
/// LargestDistance and LargestBound. The bounds of the operands are leaps.
void test_bounds() {
  const Sparse<float> in(3 * kLong), out(3 * kLong), none(3 * kLong), leaps(3 * kLong);
  const hirgen::Strided part{2, {kLong, 2}, {3, 1}};
  constexpr DType kType = DType::kFp32;
  const reference::Noisy noisy{none.get(), in.get(), in.get()}, exact{none.get(), nullptr},
      rough{none.get(), in.get()};
  const reference::Bounds to{out.get(), leaps.get()};
  float jumps = 0;
  double sum = 0;
  const reference::UnaryBound unary{hirgen::UnaryFn::kNeg, to, noisy, kType, &jumps};
  const reference::BinaryBound binary{
      hirgen::BinaryFn::kAdd, to, noisy, exact, part, part, false, kType, &jumps};
  const reference::ReduceBound reduce{
      hirgen::ReduceFn::kSum, to, none.get(), noisy, 3, 1, 0, 0, 1, kType};
  const reference::SumLogarithms logarithms{leaps.get(), out.get(), rough, 3, 1};
  const reference::RoundBound round{to, none.get(), kType};
  const reference::AddTo add{out.get(), in.get()};
  const reference::WidenBound widen{out.get(), in.get(), none.get(), false, &sum};
  const reference::AtLeast least{out.get(), 3};
  const reference::Products products{none.get(), none.get(), 0, 0, 0, false, 1};
  const reference::ProductBound product{products, to, none.get(), kType};
  const reference::AddSquares squares{out.get(), in.get(), nullptr};
  const reference::AddSizes sizes{out.get(), in.get(), nullptr};
  const reference::Rests rests{out.get(), rough};
  const reference::ScaleBound scale{out.get(), 3};
  const reference::Shake shake{out.get(), noisy, 0, 1};
  const auto expect_leap = [&](int64_t i) {
    expect(leaps[i] == 3, name_of("leap", i));
    leaps[i] = 0;
  };
  for (const int64_t i : long_numbers(24)) {
    const auto leap_of = [&](const auto& kernel) {
      return [&, i] {
        kernel(i);
        expect_leap(i);
      };
    };
    expect_element(name_of("bound, unary", i), in[i], out[i], 3.0F, leap_of(unary));
    expect_element(name_of("bound, binary", i), in[Wide{i} / 2 * 3 + i % 2], out[i], 3.0F,
                   leap_of(binary));
    expect_element(name_of("bound, reduce", i), in[Wide{i} * 3 + 2], out[i], 3.0F, leap_of(reduce));
    expect_element(name_of("bound, sizes", i), in[i], out[i], 3.0F, [&] { sizes(i); });
    expect_element(name_of("bound, rests", i), in[i], out[i], 3.0F, [&] { rests(i); });
    expect_element(name_of("bound, add", i), in[i], out[i], 3.0F, [&] { add(i); });
    expect_element(name_of("bound, widen", i), in[i], out[i], 3.0F, [&] { widen(i); });
    expect_element(name_of("bound, squares", i), in[i], out[i], 9.0F, [&] { squares(i); });
    in[Wide{i} * 3 + 2] = 3;
    logarithms(i);  // of two exponentials of 0, and one that is exp(3) times as far off
    expect(std::fabs(out[i] - std::log((2 + std::exp(3.0F)) / 3)) < 1e-3F,
           name_of("bound, logarithms", i));
    in[Wide{i} * 3 + 2] = out[i] = leaps[i] = 0;
    in[i] = 3;
    shake(i);
    expect(std::fabs(out[i]) == 3, name_of("bound, shake", i));
    out[i] = 0;
    leaps[i] = 3;
    product(i);
    round(i);
    expect(out[i] == 3, name_of("bound, product", i));
    scale(i);
    expect(out[i] == 9, name_of("bound, scale", i));
    out[i] = 0;
    least(i);
    expect(out[i] == 3, name_of("bound, least", i));
    in[i] = INFINITY;
    reference::Overflow{out.get(), in.get(), in.get(), kType}(i);
    expect(out[i] == 0, name_of("bound, overflow", i));
    in[i] = out[i] = 3;
    float share = 0, distance = 0, infinite = 0;
    reference::LargestShare{&share, {in.get(), out.get()}}(i);
    reference::LargestDistance{&distance, in.get(), none.get(), out.get()}(i);
    out[i] = INFINITY;
    reference::AnyInfinite{&infinite, out.get()}(i);
    expect(share == 1 && distance == 1 && infinite == 1, name_of("largest bounds", i));
    const reference::LargestBound largest{to, {in.get(), none.get()}, 2, 1, &infinite};
    in[Wide{i} * 2 + 1] = 3;
    out[Wide{i} * 2 + 1] = 1;
    largest(i);
    expect(out[Wide{i} * 2 + 1] == 0, name_of("the largest of a row", i));
    in[Wide{i} * 2 + 1] = 0;
    in[i] = out[i] = leaps[i] = 0;
  }
}

/// Tests MatmulRow, and MatmulTile of matmul_kernel.
void test_matmul() {
  const Sparse<float> a(2 * kLong), b(4 * kLong), c(2 * kLong);
  for (const int64_t i : long_numbers(16)) {
    const reference::Matmul shape{kLong, 1, 2, 2, false, false, DType::kFp32};
    const reference::MatmulRow row{shape, c.get(), a.get(), b.get(), nullptr};
    b[Wide{i} * 4 + 3] = 2;
    expect_element(name_of("reference, matmul", i), a[Wide{i} * 2 + 1], c[Wide{i} * 2 + 1], 6.0F,
                   [&] { row(i); });
    b[Wide{i} * 4 + 3] = 0;
    if (i < 1) continue;
    for (const reference::Matmul& p : {reference::Matmul{3, i, 70, 1, true, false, DType::kFp32},
                                       {i, 2, 33, 1, {}, {}, {}},
                                       {1, i, int64_t{1} << 20, 1, {}, {}, {}}}) {
      const std::vector<int64_t> tiles = {p.batch, (p.m + 31) / 32, (p.n + 31) / 32};
      const int64_t block = std::min(reference::MatmulTile::count(p), int64_t{1} << 31) - 1;
      const std::vector<Wide> at = unravel(block, tiles);
      const auto tile = reference::MatmulTile::of(p, block);
      expect(tile.batch == at[0] && tile.row == at[1] * 32 && tile.column == at[2] * 32,
             name_of("tile of a matmul", i));
    }
  }
}

/// Tests thread_of_grid, with which parallel_for_kernel, peer_read_reduction_kernel,
/// transfer_kernel and copy_kernel count; add_strided, which peer_read_reduction_kernel calls; and
/// copy_as, which transfer_kernel and copy_kernel call.
void test_threads() {
  const Sparse<float> in(kLong), out(kLong);
  for (const int64_t i : long_numbers(17)) {
    if (i < 0) continue;
    expect(hirgen::thread_of_grid(static_cast<unsigned>(i / 512), 512, i % 512) == i,
           name_of("thread", i));
    hirgen::ReductionList list = {};
    list.out = out.get();
    list.elements = kLong;
    list.count = 1;
    list.sources[0] = in.get();
    expect_element(name_of("sum over ranks", i), in[i], out[i], 3.0F,
                   [&] { hirgen::add_strided<float, 1>(list, i, kLong); });
    const auto bytes = static_cast<size_t>(kLong) * sizeof(float);
    expect_element(name_of("transfer", i), in[i], out[i], 3.0F, [&] {
      hirgen::copy_as<uint32_t>(reinterpret_cast<char*>(out.get()),
                                reinterpret_cast<const char*>(in.get()), bytes,
                                static_cast<size_t>(i), static_cast<size_t>(kLong));
    });
  }
}

/// Tests Rows::find, with which row_copies_kernel finds a segment: in many rows, and in long rows.
void test_row_copies() {
  char from[1], to[1];
  for (const int64_t i : long_numbers(18)) {
    if (i < 1) continue;
    for (const int64_t columns : {int64_t{4500}, int64_t{3} << 33}) {
      const hirgen::RowCopy copy{to,      from, columns + 8, columns, 1 << 20,
                                 1 << 19, 7,    columns,     i,       2};
      const auto rows = kernels::in_bytes(copy);
      const int64_t segment = static_cast<int64_t>(Wide{i} * 1000003 % rows.segments);
      const std::vector<Wide> at = unravel(segment, {i, 7, rows.per_row});
      const Wide first = at[2] * kernels::kSegment;
      const Wide in = (at[0] * copy.in_batch + at[1] * copy.in_row) * 2 + first;
      const Wide out = (at[0] * copy.out_batch + at[1] * copy.out_row) * 2 + first;
      char* found_to = nullptr;
      const char* found_from = nullptr;
      int64_t size = 0;
      rows.find(segment, &found_to, &found_from, &size);
      expect(found_from - from == in && found_to - to == out &&
                 size == (at[2] + 1 == rows.per_row ? Wide{columns} * 2 - first
                                                    : Wide{kernels::kSegment}),
             name_of("segment of rows", i));
    }
  }
}

/// Tests ScaleRows, which scales a matrix by rows and by columns.
void test_scaled_rows() {
  const Sparse<float> c(kLong), rows(kLong), columns(kLong);
  for (const int64_t i : long_numbers(19)) {
    if (i < 1) continue;
    for (const int64_t n : {int64_t{3}, (int64_t{1} << 32) + 5}) {
      rows[i / n] = 5.0F, columns[i % n] = 7.0F;
      expect_element(name_of("element of scaled rows", i), c[i], c[i], 105,
                     [&] { kernels::ScaleRows<float>{c.get(), n, rows.get(), columns.get()}(i); });
      rows[i / n] = columns[i % n] = 0;
    }
  }
}

}  // namespace

int main() {
  return run(
      "extents of the runtime's kernels",
      {test_walks, test_elementwise, test_gathers, test_top_k, test_folds, test_placements,
       test_reference, test_bounds, test_matmul, test_threads, test_row_copies, test_scaled_rows});
}
