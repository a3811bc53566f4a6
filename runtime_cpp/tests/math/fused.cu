// Tests of fused kernels against loops on the host: tiles and rows in registers, rows that are read
// several times, operands that are not dense.
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

struct SiluMul {
  bf16* A;
  const bf16 *Zg, *Zu;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto G = fn::silu(row.load(Zg));
    row.store(A, G * row.load(Zu));
  }
};

/// A norm followed by a softmax: operands of all kinds (rows, one row for all, one value for each
/// row, a single one), reductions along a row, and a value that is kept.
struct NormSoftmax {
  bf16* Y;
  const float* X;
  const bf16* gamma;
  const float* shift;
  const bf16* factor;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto X_row = row.load(X);
    const auto scaled = X_row * fn::rsqrt(fn::sum(row, X_row * X_row)) * row.along(gamma);
    const auto e = row.keep(fn::exp(scaled - fn::max(row, scaled) + row.value(shift)));
    row.store(Y, e / fn::sum(row, e) * row.single(factor));
  }
};

/// A log-sum-exp: one value for each row.
struct LogSum {
  float* out;
  const float* X;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.put(out, fn::log(fn::sum(row, fn::exp(row.load(X)))));
  }
};

struct Transposed {
  hirgen::Scattered<float, 1> out;
  hirgen::Scattered<const float, 1> X, by, rows;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(out, row.load(X) * row.load(by) + row.value(rows));
  }
};

std::vector<float> numbers(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 29) / 8 - 1.75F);
  return values;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  if (got.size() != want.size()) return expect(false, what + ": sizes differ");
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::fabs(got[i] - want[i]) <= tolerance * std::max(1.0, std::fabs(want[i]))) continue;
    return expect(false, what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                             ", not " + std::to_string(want[i]));
  }
}

/// Casts of a kept value, of a value that is read again, and of a value of the whole row.
template <typename T>
struct Rounded {
  float* Y;
  const float *X, *shift;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto kept = row.keep(fn::neg(row.load(X)));
    row.store(Y,
              fn::max(fn::cast<T>(kept), fn::cast<T>(row.load(X))) - fn::cast<T>(row.value(shift)));
  }
};

/// Tests that a cast in a kernel gives the same element as a store in that type and a load. The
/// numbers have ties, fractions of integers, numbers beyond the largest one, infinities and NaN.
template <typename T>
void test_cast(DType type, const std::string& name) {
  constexpr int64_t kColumns = 9, kRows = 2;
  const std::vector<float> x = {0.0F,   -0.5F,         1.00390625F, 1.01171875F, -2.7F,
                                449.0F, -464.0F,       65519.0F,    65520.0F,    1e-8F,
                                -3e9F,  1e20F,         -INFINITY,   16777217.0F, std::nanf(""),
                                8.5F,   2147483648.0F, 40.0F};
  const std::vector<float> shifts = {1.0009765625F, 2.75F};
  std::vector<float> negative;
  for (const float v : x) negative.push_back(-v);
  const Elements X(DType::kFp32, x), shift(DType::kFp32, shifts), Y(DType::kFp32, kRows * kColumns);
  auto* y = static_cast<float*>(Y.get());
  const auto* from = static_cast<const float*>(X.get());
  hirgen::launch_rows<kColumns>(Rounded<T>{y, from, static_cast<const float*>(shift.get())},
                                {kRows}, hirgen::accesses(y, from), stream(), "test");
  const std::vector<float> a = rounded(type, negative), b = rounded(type, x);
  const std::vector<float> less = rounded(type, shifts);
  std::vector<float> want;
  for (size_t i = 0; i < x.size(); ++i) {
    want.push_back((a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]) - less[i / kColumns]);
  }
  expect_equal(Y.read(), want, "cast to " + name);
}

void test_casts() {
#define HG_CASE(enumerator, name, element, ...) test_cast<element>(DType::enumerator, #name);
  HG_TYPES(HG_CASE)
#undef HG_CASE
}

/// Numbers of elements that are multiples of a tile or not, in aligned and unaligned operands, and
/// so many that a GPU makes wide accesses.
void test_elements() {
  for (const int64_t count : {1, 61, 64, 4104, 600008}) {
    for (const int64_t offset : {0, 1}) {
      const std::vector<float> values = numbers(count);
      const Elements Zg(DType::kBf16, values, offset), Zu(DType::kBf16, values, offset);
      const Elements A(DType::kBf16, count, offset);
      auto* a = static_cast<bf16*>(A.get());
      const auto* g = static_cast<const bf16*>(Zg.get());
      const auto* u = static_cast<const bf16*>(Zu.get());
      hirgen::launch_elements(SiluMul{a, g, u}, count, hirgen::accesses(a, g, u), stream(), "test");
      std::vector<double> want;
      for (const double v : values) want.push_back(v / (1 + std::exp(-v)) * v);
      expect_near(A.read(), want, 0x1p-8, "silu_mul of " + std::to_string(count));
    }
  }
}

template <int64_t Columns>
void test_rows(int64_t offset) {
  constexpr int64_t kRows = 3;
  const std::string of = " of rows of " + std::to_string(Columns) + " at " + std::to_string(offset);
  const std::vector<float> x = numbers(kRows * Columns), g = numbers(Columns), s = numbers(kRows);
  const Elements X(DType::kFp32, x, offset), gamma(DType::kBf16, g, offset), shift(DType::kFp32, s);
  const Elements Y(DType::kBf16, kRows * Columns, offset), sums(DType::kFp32, kRows);
  const Elements factor(DType::kBf16, std::vector<float>{0.75F});
  auto* y = static_cast<bf16*>(Y.get());
  const auto* from = static_cast<const float*>(X.get());
  const auto* weights = static_cast<const bf16*>(gamma.get());
  hirgen::launch_rows<Columns>(NormSoftmax{y, from, weights, static_cast<const float*>(shift.get()),
                                           static_cast<const bf16*>(factor.get())},
                               {kRows}, hirgen::accesses(y, from, weights), stream(), "test");
  auto* logs = static_cast<float*>(sums.get());
  hirgen::launch_rows<Columns>(LogSum{logs, from}, {kRows}, hirgen::accesses(from), stream(),
                               "test");
  std::vector<double> want, want_logs;
  for (int64_t r = 0; r < kRows; ++r) {
    double squares = 0, all = 0, exps = 0;
    for (int64_t c = 0; c < Columns; ++c) {
      const double v = x[static_cast<size_t>(r * Columns + c)];
      squares += v * v;
      exps += std::exp(v);
    }
    std::vector<double> row;
    for (int64_t c = 0; c < Columns; ++c) {
      const double v = x[static_cast<size_t>(r * Columns + c)];
      row.push_back(std::exp(v / std::sqrt(squares) * g[static_cast<size_t>(c)]));
      all += row.back();
    }
    for (const double e : row) want.push_back(e / all * 0.75);
    want_logs.push_back(std::log(exps));
  }
  expect_near(Y.read(), want, 0x1p-8, "norm and softmax" + of);
  expect_near(sums.read(), want_logs, 1e-5, "logarithm of the sum" + of);
}

/// out[r, c] = X[c, r] * by[c] + rows[r].
void test_scattered() {
  constexpr int64_t kRows = 5, kColumns = 7;
  const std::vector<float> x = numbers(kRows * kColumns), b = numbers(kColumns), v = numbers(kRows);
  const Elements X(DType::kFp32, x), by(DType::kFp32, b), rows(DType::kFp32, v);
  const Elements out(DType::kFp32, kRows * kColumns);
  const Transposed body{{static_cast<float*>(out.get()), {kColumns, 1}},
                        {static_cast<const float*>(X.get()), {1, kRows}},
                        {static_cast<const float*>(by.get()), {0, 1}},
                        {static_cast<const float*>(rows.get()), {1, 0}}};
  const auto accesses = hirgen::accesses(body.out, body.X, body.by);
  hirgen::launch_rows<kColumns, 1>(body, {kRows}, accesses, stream(), "test");
  std::vector<double> want;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) {
      want.push_back(double{x[static_cast<size_t>(c * kRows + r)]} * b[static_cast<size_t>(c)] +
                     v[static_cast<size_t>(r)]);
    }
  }
  expect_near(out.read(), want, 1e-6, "transposed");
  hirgen::poison(out.get(), kRows * kColumns * sizeof(float), stream());
  hirgen::launch_rows<kColumns, 1>(body, {kRows}, accesses.wide(), stream(), "test");
  expect_near(out.read(), want, 1e-6, "transposed, rows counted in 64 bits");
  hirgen::poison(out.get(), kRows * kColumns * sizeof(float), stream());
  hirgen::launch_parts<kColumns, 1>(body, {kRows}, accesses, stream(), "test");
  expect_near(out.read(), want, 1e-6, "transposed, in parts of rows");
}

/// A rotary embedding: it rotates each pair (first[c], second[c]) by the row index times c, and
/// also sums each row.
struct Turned {
  hirgen::Scattered<bf16, 2> low, high;
  hirgen::Scattered<float, 2> sums;
  hirgen::Scattered<const bf16, 2> first, second;
  hirgen::Counted<2> at, pairs;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto first_row = row.load(first);
    const auto second_row = row.load(second);
    const auto angle = row.value(at) * row.along(pairs);
    const auto cos = row.keep(fn::cos(angle));
    const auto sin = row.keep(fn::sin(angle));
    row.store(low, first_row * cos - second_row * sin);
    row.store(high, second_row * cos + first_row * sin);
    row.put(sums, fn::sum(row, first_row + second_row));
  }
};

/// Rotates the halves of X[r, h, 2 * Half] into Y[h, r, 2 * Half], and checks the sums [r, h].
template <int64_t Half>
void test_turned(int64_t offset) {
  constexpr int64_t kRows = 5, kHeads = 3, kWide = 2 * Half;
  const std::vector<float> x = numbers(kRows * kHeads * kWide);
  const Elements X(DType::kBf16, x, offset), Y(DType::kBf16, kRows * kHeads * kWide, offset);
  const Elements sums(DType::kFp32, kRows * kHeads);
  const auto* from = static_cast<const bf16*>(X.get());
  auto* to = static_cast<bf16*>(Y.get());
  const Turned body{{to, {kWide, kRows * kWide, 1}},
                    {to + Half, {kWide, kRows * kWide, 1}},
                    {static_cast<float*>(sums.get()), {kHeads, 1, 0}},
                    {from, {kHeads * kWide, kWide, 1}},
                    {from + Half, {kHeads * kWide, kWide, 1}},
                    {{1, 0, 0}},
                    {{0, 0, 1}}};
  hirgen::launch_rows<Half, 2>(body, {kRows, kHeads},
                               hirgen::accesses(body.low, body.high, body.first, body.second),
                               stream(), "test");
  std::vector<double> want(x.size()), want_sums;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t h = 0; h < kHeads; ++h) {
      double sum = 0;
      for (int64_t c = 0; c < Half; ++c) {
        const auto at = static_cast<size_t>((r * kHeads + h) * kWide + c);
        const auto out = static_cast<size_t>((h * kRows + r) * kWide + c);
        const double a = x[at], b = x[at + Half], angle = static_cast<double>(r * c);
        want[out] = a * std::cos(angle) - b * std::sin(angle);
        want[out + Half] = b * std::cos(angle) + a * std::sin(angle);
        sum += a + b;
      }
      want_sums.push_back(sum);
    }
  }
  const std::string of = " of halves of " + std::to_string(Half) + " at " + std::to_string(offset);
  expect_near(Y.read(), want, 0x1p-7, "turned" + of);
  expect_near(sums.read(), want_sums, 1e-5, "sums" + of);
}

void test_all_turned() {
  for (const int64_t offset : {0, 1}) {
    test_turned<8>(offset);
    test_turned<12>(offset);
    test_turned<64>(offset);
    test_turned<1040>(offset);
  }
}

struct Dropped {
  hirgen::Scattered<bf16, 1> Y;
  hirgen::Scattered<const bf16, 1> X;
  hirgen::Scattered<const int64_t, 1> seed;
  hirgen::Counted<1> column, at;
  hirgen::Dropout kind;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(Y, fn::dropout(row.load(X), row.seed(seed), row.along(column), row.value(at), kind));
  }
};

/// Compares a dropout with its definition, which decides for each element alone. The kernel decides
/// for the elements of an access together, if it can.
template <int64_t Columns>
void test_dropout(int64_t width, int64_t offset) {
  constexpr int64_t kRows = 37;
  const std::vector<float> x(kRows * Columns, 3.0F);
  const Elements X(DType::kBf16, x, offset), Y(DType::kBf16, kRows * Columns, offset);
  const Elements seed(DType::kInt64, std::vector<float>{12345.0F});
  const Dropped body{{static_cast<bf16*>(Y.get()), {Columns, 1}},
                     {static_cast<const bf16*>(X.get()), {Columns, 1}},
                     {static_cast<const int64_t*>(seed.get()), {0, 0}},
                     {{0, 1}},
                     {{1, 0}},
                     {.p = 0.25F, .salt = 2, .width = width}};
  hirgen::launch_rows<Columns, 1>(body, {kRows}, hirgen::accesses(body.Y, body.X), stream(),
                                  "test");
  std::vector<float> want;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < Columns; ++c) {
      const auto index = static_cast<uint64_t>(r * width + c);
      want.push_back(hirgen::dropped_at(body.kind, 3.0F, 12345, index));
    }
  }
  const auto kept = static_cast<double>(std::count(want.begin(), want.end(), 4.0F));
  const double expected = 0.75 * static_cast<double>(want.size());
  expect(std::fabs(kept - expected) < 5 * std::sqrt(expected * 0.25), "the share that is kept");
  const std::string of = " of rows of " + std::to_string(Columns) + " of " + std::to_string(width);
  expect_equal(Y.read(), want, "dropout" + of);
  hirgen::poison(Y.get(), kRows * Columns * sizeof(bf16), stream());
  hirgen::launch_parts<Columns, 1>(body, {kRows}, hirgen::accesses(body.Y, body.X), stream(),
                                   "test");
  expect_equal(Y.read(), want, "dropout in parts" + of);
}

void test_dropouts() {
  // A known-answer test of the authors of Philox (Random123).
  const hirgen::Words words =
      hirgen::philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0);
  expect(words.value[0] == 0xd16cfe09 && words.value[1] == 0x94fdcceb &&
             words.value[2] == 0x5001e420 && words.value[3] == 0x24126ea1,
         "philox");
  test_dropout<64>(64, 0);
  test_dropout<64>(67, 0);  // accesses cross groups of eight
  test_dropout<10>(10, 0);
  test_dropout<64>(128, 1);
  test_dropout<20000>(20000, 0);
  test_dropout<20003>(20003, 0);
}

/// Rows in registers, rows whose length is not a multiple of an access, and rows that do not fit in
/// registers.
void test_all_rows() {
  for (const int64_t offset : {0, 1}) {
    test_rows<8>(offset);
    test_rows<56>(offset);
    test_rows<100>(offset);
    test_rows<560>(offset);
  }
}

struct Twice {
  __nv_bfloat16* Y;
  const __nv_fp8_e4m3* X;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(Y, row.load(X) * 2.0F);
  }
};

/// More rows of 8-bit elements than a GPU processes at once. Only every second row starts at a
/// multiple of 16 bytes.
void test_many_rows_of_bytes() {
  constexpr int64_t kRows = 5000, kColumns = 1032;
  std::vector<float> x(kRows * kColumns), want(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 13) - 6.0F;
    want[i] = 2 * x[i];
  }
  const Elements X(DType::kFp8E4m3, x), Y(DType::kBf16, kRows * kColumns);
  auto* to = static_cast<__nv_bfloat16*>(Y.get());
  const auto* from = static_cast<const __nv_fp8_e4m3*>(X.get());
  hirgen::launch_rows<kColumns>(Twice{to, from}, {kRows}, hirgen::accesses(to, from), stream(),
                                "test");
  expect_equal(Y.read(), want, "many rows of 8 bits");
}

}  // namespace

int main() {
  return run("math_fused", {test_elements, test_all_rows, test_scattered, test_all_turned,
                            test_dropouts, test_casts, test_many_rows_of_bytes});
}
