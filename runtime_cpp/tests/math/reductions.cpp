// Tests of reductions against loops on the host.
#include <algorithm>
#include <string>
#include <vector>

#include "apply.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::ReduceFn;
using hirgen::Strided;

/// Reduces axis `axis` of values[shape] on the host.
std::vector<float> reduced(ReduceFn fn, const std::vector<float>& values,
                           const std::vector<int64_t>& shape, size_t axis) {
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<float> result;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      float sum = 0;
      for (int64_t r = 0; r < shape[axis]; ++r) {
        const float x = values[static_cast<size_t>((o * shape[axis] + r) * inner + i)];
        const BinaryFn step[] = {BinaryFn::kAdd, BinaryFn::kMax, BinaryFn::kMin, BinaryFn::kMul};
        sum = r == 0 ? x : apply(step[static_cast<int>(fn)], sum, x);
      }
      result.push_back(sum);
    }
  }
  return result;
}

/// Every axis, for numbers of slices around the number that a thread reads at once.
void test_reductions() {
  for (const DType type : kTypes) {
    for (const int64_t count : {1, 3, 4, 8, 13}) {
      for (const int64_t inner : {24, 5}) {
        const std::vector<int64_t> shape = {count, 3, inner};
        const std::vector<float> values = integers(static_cast<size_t>(count * 3 * inner), 4);
        const Elements in(type, values);
        for (int axis = 0; axis < 3; ++axis) {
          std::vector<int64_t> out_shape = shape;
          out_shape[static_cast<size_t>(axis)] = 1;
          const int64_t elements = count * 3 * inner / shape[static_cast<size_t>(axis)];
          const Elements out(type, elements);
          for (int fn = 0; fn < 4; ++fn) {
            hirgen::launch_reduce(static_cast<ReduceFn>(fn), axis, out.get(), type,
                                  row_major(out_shape), in.get(), type, row_major(shape), stream(),
                                  "test");
            const auto expected =
                reduced(static_cast<ReduceFn>(fn), values, shape, static_cast<size_t>(axis));
            expect_equal(out.read(), rounded(type, expected), "reduce " + std::to_string(fn));
          }
        }
      }
    }
  }
}

/// Reductions of large tensors along each axis, with and without vectorised accesses. On a GPU,
/// several threads or blocks together reduce the many slices of a result.
void test_reductions_into_few_results() {
  const std::vector<std::vector<int64_t>> shapes = {{1000, 40},   {517, 7},   {4, 3000},
                                                    {3, 129, 16}, {70000, 1}, {1, 5000}};
  for (const DType type : kTypes) {
    for (const std::vector<int64_t>& shape : shapes) {
      int64_t elements = 1;
      for (const int64_t extent : shape) elements *= extent;
      std::vector<float> values = integers(static_cast<size_t>(elements), 6);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i % 16 == 3 ? values[i] : 0;
      const Elements in(type, values);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        std::vector<int64_t> out_shape = shape;
        out_shape[axis] = 1;
        const Elements out(type, elements / shape[axis]);
        for (const ReduceFn fn : {ReduceFn::kSum, ReduceFn::kMax, ReduceFn::kMin}) {
          hirgen::launch_reduce(fn, static_cast<int>(axis), out.get(), type, row_major(out_shape),
                                in.get(), type, row_major(shape), stream(), "test");
          expect_equal(out.read(), rounded(type, reduced(fn, values, shape, axis)),
                       "reduce along axis " + std::to_string(axis));
        }
      }
    }
  }
}

/// Slices that start off 16-byte boundaries, so that reads cannot be vectorised: by a stride of 12
/// elements of 16 bits, or by an offset of one element.
void test_reductions_of_unaligned_slices() {
  const std::vector<float> values = integers(4 * 12, 5);
  std::vector<float> expected;
  for (size_t j = 0; j < 8; ++j) {
    expected.push_back(values[j] + values[12 + j] + values[24 + j] + values[36 + j]);
  }
  Strided padded = row_major({4, 8});
  padded.stride[0] = 12;
  for (const DType type : kTypes) {
    for (const int64_t offset : {0, 1}) {
      const Elements in(type, values, offset), out(type, 8);
      hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), type, row_major({1, 8}), in.get(), type,
                            padded, stream(), "test");
      expect_equal(out.read(), expected, "sum of padded rows");
    }
    const Elements in(type, values, 1), out(type, 24);
    hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), type, row_major({1, 24}), in.get(), type,
                          row_major({2, 24}), stream(), "test");
    expect_equal(out.read(), reduced(ReduceFn::kSum, values, {2, 24}, 0), "sum off the boundary");
  }
}

/// 256 + 8 * 1 is 264 in bf16; adding the ones one at a time in bf16 would stay at 256.
void test_sums_are_fp32_and_rounded_once() {
  std::vector<float> values(9 * 8, 1.0F);
  std::fill(values.begin(), values.begin() + 8, 256.0F);
  const Elements in(DType::kBf16, values), out(DType::kBf16, 8);
  hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), DType::kBf16, row_major({1, 8}), in.get(),
                        DType::kBf16, row_major({9, 8}), stream(), "test");
  expect_equal(out.read(), std::vector<float>(8, 264.0F), "sum");
}

}  // namespace

int main() {
  return run("math_reductions",
             {test_reductions, test_reductions_into_few_results,
              test_reductions_of_unaligned_slices, test_sums_are_fp32_and_rounded_once});
}
