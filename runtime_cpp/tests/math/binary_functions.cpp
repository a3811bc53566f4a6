// Tests of binary functions with operands that broadcast, and of NaN, against loops on the host.
#include <string>
#include <vector>

#include "apply.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Strided;
using hirgen::UnaryFn;

void test_nan_passes_through_relu_and_max() {
  const Elements in(DType::kFp32, 8), zeros(DType::kFp32, std::vector<float>(8, 0.0F));
  const Elements out(DType::kFp32, 8);
  const Strided view = row_major({8});
  const std::vector<float> nans = in.read();  // poisoned with NaN
  hirgen::launch_unary(UnaryFn::kRelu, out.get(), DType::kFp32, view, in.get(), DType::kFp32, view,
                       stream(), "test");
  expect_equal(out.read(), nans, "relu of NaN");
  for (const BinaryFn fn : {BinaryFn::kMax, BinaryFn::kMin}) {
    for (const bool first : {false, true}) {
      hirgen::launch_binary(fn, out.get(), DType::kFp32, view, (first ? in : zeros).get(), view,
                            (first ? zeros : in).get(), view, DType::kFp32, stream(), "test");
      expect_equal(out.read(), nans, "max or min with NaN");
    }
  }
}

/// [5, n] with [5, n], [1, n], [5, 1] and [1, 1]. Accesses are vectorised if n is 16, the second
/// operand has n columns, and the first one is not offset by one element.
void test_binary_functions_broadcast() {
  for (const DType type : kTypes) {
    for (const int64_t n : {16, 9}) {
      for (const int64_t offset : {0, 1}) {
        const std::vector<float> a = integers(static_cast<size_t>(5 * n), 2);
        const std::vector<float> integer = integers(static_cast<size_t>(5 * n), 3);
        std::vector<float> nonzero = integer;
        for (float& x : nonzero) x = x == 0 ? 1 : x;
        const Elements left(type, a, offset), out(type, 5 * n);
        for (const int rows : {5, 1}) {
          for (const int64_t columns : {n, int64_t{1}}) {
            for (int fn = 0; fn < 12; ++fn) {
              const std::vector<float>& b =
                  static_cast<BinaryFn>(fn) == BinaryFn::kDiv ? nonzero : integer;
              const Elements right(type, b);
              hirgen::launch_binary(static_cast<BinaryFn>(fn), out.get(), type, row_major({5, n}),
                                    left.get(), row_major({5, n}), right.get(),
                                    row_major({rows, columns}), type, stream(), "test");
              std::vector<float> expected;
              for (int64_t i = 0; i < 5; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                  const int64_t at = (rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j);
                  expected.push_back(apply(static_cast<BinaryFn>(fn),
                                           a[static_cast<size_t>(i * n + j)],
                                           b[static_cast<size_t>(at)]));
                }
              }
              expect_equal(out.read(), rounded(type, expected), "binary " + std::to_string(fn));
            }
          }
        }
      }
    }
  }
}

}  // namespace

int main() {
  return run("math_binary_functions",
             {test_nan_passes_through_relu_and_max, test_binary_functions_broadcast});
}
