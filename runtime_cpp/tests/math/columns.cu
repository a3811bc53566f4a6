// Tests of kernels that reduce along columns, against loops on the host: few and many rows, columns
// with and without 16-byte reads, operands that are not dense.
#include <algorithm>
#include <string>
#include <vector>

#include "hirgen/columns.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
namespace fn = hirgen::fn;
using bf16 = __nv_bfloat16;

/// The gradient of a norm's weight. Its operands are elements (dY, X), a value for each row (rstd)
/// and a value for each column (scale).
struct WeightGrad {
  const bf16* dY;
  const float* X;
  const float* rstd;
  const bf16* scale;
  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    const auto y = row.keep(row.load(X) * row.value(rstd));
    return row.load(dY) * y * row.along(scale);
  }
};

struct Product {
  hirgen::Scattered<const float, 1> a, b;
  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    return row.load(a) * row.load(b);
  }
};

/// Sums of products of small integers, which are exact in any order.
void test_sums(int64_t rows, int64_t columns, int64_t offset) {
  const auto count = static_cast<size_t>(rows * columns);
  const std::vector<float> dy = integers(count, 1), x = integers(count, 2);
  const std::vector<float> r = integers(static_cast<size_t>(rows), 3);
  const std::vector<float> s = integers(static_cast<size_t>(columns), 4);
  const Elements dY(DType::kBf16, dy, offset), X(DType::kFp32, x, offset), rstd(DType::kFp32, r);
  const Elements scale(DType::kBf16, s, offset), out(DType::kFp32, columns, offset);
  const WeightGrad body{static_cast<const bf16*>(dY.get()), static_cast<const float*>(X.get()),
                        static_cast<const float*>(rstd.get()),
                        static_cast<const bf16*>(scale.get())};
  hirgen::launch_columns<hirgen::ReduceFn::kSum>(
      static_cast<float*>(out.get()), body, columns, {rows},
      hirgen::accesses(body.dY, body.X, body.scale), stream(), "test");
  std::vector<float> want(static_cast<size_t>(columns), 0.0F);
  for (size_t i = 0; i < count; ++i) {
    const size_t c = i % want.size();
    want[c] += dy[i] * x[i] * r[i / want.size()] * s[c];
  }
  expect_equal(out.read(), want,
               "sums of " + std::to_string(rows) + " rows of " + std::to_string(columns) + " at " +
                   std::to_string(offset));
}

void test_all_sums() {
  for (const int64_t rows : {1, 3, 5, 64, 1021, 4099}) {  // clusters share the sums of 4,099 rows
    for (const int64_t columns : {1, 7, 8, 40, 1032}) {
      for (const int64_t offset : {0, 1}) test_sums(rows, columns, offset);
    }
  }
}

/// out[2 * c] = the maximum over r of A[r, c] * B[c, r], for rows of A that are `step` elements
/// apart. Rows are counted in 64 bits if `is_wide`.
void test_scattered(int64_t rows, int64_t columns, int64_t step, bool is_wide) {
  const std::vector<float> a = integers(static_cast<size_t>(rows * step), 5);
  const std::vector<float> b = integers(static_cast<size_t>(rows * columns), 6);
  const Elements A(DType::kFp32, a), B(DType::kFp32, b), out(DType::kBf16, 2 * columns);
  const Product body{{static_cast<const float*>(A.get()), {step, 1}},
                     {static_cast<const float*>(B.get()), {1, rows}}};
  const hirgen::Scattered<bf16, 1> to{static_cast<bf16*>(out.get()), {0, 2}};
  const auto accesses = hirgen::accesses(body.a, body.b);
  const auto launch = [&](auto by) {
    hirgen::launch_columns<hirgen::ReduceFn::kMax, 1>(to, body, columns, {rows}, by, stream(),
                                                      "test");
  };
  if (is_wide) launch(accesses.wide());
  if (!is_wide) launch(accesses);
  const std::vector<float> got = out.read();
  std::vector<float> want, every_second;
  for (int64_t c = 0; c < columns; ++c) {
    float most = -1e9F;
    for (int64_t r = 0; r < rows; ++r) {
      most = std::max(most,
                      a[static_cast<size_t>(r * step + c)] * b[static_cast<size_t>(c * rows + r)]);
    }
    want.push_back(most);
    every_second.push_back(got[static_cast<size_t>(2 * c)]);
  }
  expect_equal(every_second, want, "maxima of " + std::to_string(rows) + " rows");
}

void test_all_scattered() {
  for (const bool is_wide : {false, true}) {
    test_scattered(1, 8, 8, is_wide);
    test_scattered(6, 8, 24, is_wide);
    test_scattered(515, 13, 17, is_wide);
  }
}

}  // namespace

int main() { return run("math_columns", {test_all_sums, test_all_scattered}); }
