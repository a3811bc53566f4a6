// Tests of fused kernels that fold blocks of a row, as the quantization of 128 elements after a
// norm does.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hirgen/fused.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
namespace fn = hirgen::fn;
using bf16 = __nv_bfloat16;

/// Divides a row by the sum of its absolute values, and then each block by its largest absolute
/// value.
template <int kBlock>
struct Blocks {
  bf16* Y;
  float* largest;
  const bf16* X;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X);
    const auto normed = row.keep(x / fn::sum(row, fn::abs(x)));
    const auto most = fn::max_blocks<kBlock>(row, fn::abs(normed));
    fn::put_blocks<kBlock>(row, largest, most);
    row.store(Y, normed / most);
  }
};

/// The same as Blocks, with strides along the rows, and without a kept value.
template <int kBlock>
struct ScatteredBlocks {
  hirgen::Scattered<bf16, 1> Y;
  hirgen::Scattered<float, 1> largest;
  hirgen::Scattered<const bf16, 1> X;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X);
    const auto normed = x / fn::sum(row, fn::abs(x));
    const auto most = fn::max_blocks<kBlock>(row, fn::abs(normed));
    row.store(Y, normed / most);
    fn::put_blocks<kBlock>(row, largest, most);
  }
};

/// Numbers without zeros. Each block has its largest absolute value in another column.
float number(int64_t row, int64_t column, int64_t size) {
  const int64_t block = column / size, at = column % size;
  const float largest = 4.0F + static_cast<float>((row + block) % 5);
  if (at == (37 * block + 11 * row) % size) return block % 2 == 0 ? largest : -largest;
  return static_cast<float>(at % 7 - 3) + 0.25F;
}

template <int64_t Columns, int kBlock = 128>
void test(int64_t offset) {
  constexpr int64_t kRows = 5, kBlocks = Columns / kBlock;
  std::vector<float> x, want, most;
  for (int64_t r = 0; r < kRows; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < Columns; ++c) x.push_back(number(r, c, kBlock));
    for (int64_t c = 0; c < Columns; ++c) sum += std::fabs(number(r, c, kBlock));  // exact
    for (int64_t b = 0; b < kBlocks; ++b) {
      float largest = 0;
      for (int64_t c = b * kBlock; c < (b + 1) * kBlock; ++c) {
        largest = std::max(largest, std::fabs(number(r, c, kBlock) / sum));
      }
      most.push_back(largest);
      for (int64_t c = b * kBlock; c < (b + 1) * kBlock; ++c) {
        want.push_back(number(r, c, kBlock) / sum / largest);
      }
    }
  }
  want = rounded(DType::kBf16, want);
  const Elements X(DType::kBf16, x, offset), Y(DType::kBf16, kRows * Columns, offset);
  const Elements largest(DType::kFp32, kRows * kBlocks);
  auto* y = static_cast<bf16*>(Y.get());
  auto* sizes = static_cast<float*>(largest.get());
  const auto* from = static_cast<const bf16*>(X.get());
  const std::string of = " of " + std::to_string(kBlock) + " columns of " +
                         std::to_string(Columns) + " at " + std::to_string(offset);
  hirgen::launch_rows<Columns>(Blocks<kBlock>{y, sizes, from}, {kRows}, hirgen::accesses(y, from),
                               stream(), "test");
  expect_equal(Y.read(), want, "blocks" + of);
  expect_equal(largest.read(), most, "largest sizes" + of);
  hirgen::poison(y, kRows * Columns * sizeof(bf16), stream());
  hirgen::poison(sizes, kRows * kBlocks * sizeof(float), stream());
  const ScatteredBlocks<kBlock> body{
      {y, {Columns, 1}}, {sizes, {kBlocks, 1}}, {from, {Columns, 1}}};
  hirgen::launch_rows<Columns, 1>(body, {kRows}, hirgen::accesses(body.Y, body.X), stream(),
                                  "test");
  expect_equal(Y.read(), want, "scattered blocks" + of);
  expect_equal(largest.read(), most, "scattered largest sizes" + of);
}

void test_all() {
  for (const int64_t offset : {0, 1}) {
    test<128>(offset);
    test<384>(offset);
    test<96, 16>(offset);
    test<2048, 64>(offset);
    test<4096>(offset);
    test<65664>(offset);  // too long for registers
  }
}

}  // namespace

int main() { return run("math_row_blocks", {test_all}); }
