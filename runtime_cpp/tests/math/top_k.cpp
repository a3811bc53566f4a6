// Tests of top_k, which selects the largest elements of rows, against a stable sort on the host:
// short and long rows, equal elements, infinities and NaN, rows that are not dense.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Strided;

/// Values with many equal elements and infinities. Row 2 has a NaN.
std::vector<float> values_of(int64_t rows, int64_t columns) {
  std::vector<float> values = integers(static_cast<size_t>(rows * columns), 7);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 37 == 5) values[i] = i % 2 == 0 ? INFINITY : -INFINITY;
  }
  if (rows > 2) values[static_cast<size_t>(2 * columns + columns / 2)] = NAN;
  return values;
}

/// Selects from rows, rounded to a type, whose elements are `apart` elements apart in memory.
void test_rows(DType type, int64_t rows, int64_t columns, int64_t k, int64_t apart) {
  const std::vector<float> x = rounded(type, values_of(rows, columns));
  std::vector<float> spread(x.size() * static_cast<size_t>(apart), 1e9F);
  for (size_t i = 0; i < x.size(); ++i) spread[i * static_cast<size_t>(apart)] = x[i];
  const Elements in(type, spread), values(type, rows * k), positions(DType::kInt32, rows * k);
  const Strided selected{2, {rows, k}, {k, 1}};
  hirgen::launch_top_k(values.get(), selected, static_cast<int32_t*>(positions.get()), selected,
                       in.get(), type, {2, {rows, columns}, {columns * apart, apart}}, stream(),
                       "test");
  std::vector<float> want_values, want_positions;
  for (int64_t row = 0; row < rows; ++row) {
    const float* of = x.data() + row * columns;
    std::vector<int64_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), int64_t{0});
    const bool has_nan = std::any_of(of, of + columns, [](float v) { return std::isnan(v); });
    if (!has_nan) {
      std::stable_sort(order.begin(), order.end(),
                       [of](int64_t a, int64_t b) { return of[a] > of[b]; });
    }
    for (int64_t j = 0; j < k; ++j) {
      const int64_t at = order[static_cast<size_t>(j)];
      want_values.push_back(has_nan ? NAN : of[at]);
      want_positions.push_back(has_nan ? static_cast<float>(INT32_MAX) : static_cast<float>(at));
    }
  }
  const std::string what = "top " + std::to_string(k) + " of " + std::to_string(columns);
  expect_equal(values.read(), want_values, what + ", values");
  expect_equal(positions.read(), want_positions, what + ", positions");
}

void test_all() {
  for (const DType type : kTypes) {
    for (const int64_t columns : {1, 2, 8, 33, 256, 300, 8200}) {
      for (const int64_t k : {1, 2, 16, 256}) {
        for (const int64_t apart : {1, 3}) {
          if (k <= columns) test_rows(type, 5, columns, k, apart);
        }
      }
    }
    test_rows(type, 40, 8, 2, 1);
    test_rows(type, 1, 4, 4, 1);
  }
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    test_rows(type, 5, 33, 16, 3);
    test_rows(type, 5, 8200, 2, 1);
    test_rows(type, 2, 300, 256, 1);
  }
}

}  // namespace

int main() { return run("math_top_k", {test_all}); }
