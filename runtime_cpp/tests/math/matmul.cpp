// Tests of GEMMs in all forms, and of operands that are slices of larger matrices or are not
// aligned.
#include "matmul.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace math_test;

/// All combinations of types, transposes, bias, batches, addend, fp32 results and ReLU. 48 x 80 x
/// 112 is aligned, and 5 x 7 x 11 is not.
void test_every_form() {
  for (const DType type : kTypes) {
    for (int form = 0; form < 128; ++form) {
      MatmulShape shape;
      shape.dtype = type;
      shape.transpose_a = (form & 1) != 0;
      shape.transpose_b = (form & 2) != 0;
      shape.bias = (form & 4) != 0;
      shape.batch = (form & 8) != 0 ? 3 : 1;
      shape.addend = (form & 16) != 0;
      if ((form & 32) != 0) shape.dtype_c = DType::kFp32;
      shape.epilogue = (form & 64) != 0 ? Epilogue::kRelu : Epilogue::kNone;
      if (shape.dtype_c == type) continue;
      for (const bool aligned : {true, false}) {
        shape.m = aligned ? 48 : 5;
        shape.n = aligned ? 80 : 7;
        shape.k = aligned ? 112 : 11;
        shape.stride_b = shape.k * shape.n;
        check(shape);
      }
    }
  }
}

/// gelu_tanh of exact sums, with and without a bias. The tolerance allows a faster, less exact
/// tanh.
void test_gelu() {
  for (const DType type : kTypes) {
    for (const bool bias : {false, true}) {
      const MatmulShape shape{
          .m = 48, .n = 80, .k = 8, .bias = bias, .epilogue = Epilogue::kGeluTanh, .dtype = type};
      std::vector<float> a(48 * 8), b = integers(8 * 80, 2), row = integers(80, 3);
      for (size_t i = 0; i < a.size(); ++i) a[i] = 0.125F * static_cast<float>(i % 7) - 0.375F;
      const Elements left(type, a), right(type, b), added(type, row), out(type, 48 * 80);
      MatmulPlan plan(cublas(), shape, kWhere);
      if (bias) plan.set_bias(added.get(), kWhere);
      multiply(plan, left.get(), right.get(), out.get());
      std::vector<float> want = gemm(shape, a, b, row);
      for (float& x : want) {
        x *= 0.5F * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
      }
      const std::vector<float> got = out.read();
      for (size_t i = 0; i < got.size(); ++i) {
        const double size = std::max(1.0F, std::abs(want[i]));
        expect(std::abs(got[i] - want[i]) <= (type == DType::kFp32 ? 1e-3 : 1e-2) * size,
               describe(shape) + " at " + std::to_string(i));
      }
    }
  }
}

/// One matrix B for all batches: a stride of zero.
void test_batches_may_share_an_operand() {
  MatmulShape shape{.m = 16, .n = 24, .k = 32, .batch = 4};
  shape.stride_b = 0;
  check(shape);
}

/// A pipeline multiplies slices that start at any row.
void test_slices_at_odd_rows() {
  const MatmulShape shape{.m = 4, .n = 7, .k = 11, .dtype = DType::kFp16};
  const std::vector<float> a = integers(12 * 11, 4), b = integers(11 * 7, 5);
  const Elements left(shape.dtype, a), right(shape.dtype, b), out(shape.dtype, 12 * 7);
  MatmulPlan plan(cublas(), shape, kWhere);
  for (size_t slice = 0; slice < 3; ++slice) {
    multiply(plan, static_cast<char*>(left.get()) + slice * 4 * 11 * 2, right.get(),
             static_cast<char*>(out.get()) + slice * 4 * 7 * 2);
  }
  MatmulShape whole = shape;
  whole.m = 12;
  expect_equal(out.read(), rounded(shape.dtype, gemm(whole, a, b, {})), "three slices");
}

/// Slices of columns of B, with the leading dimension of the whole B.
void test_columns_of_b() {
  for (const bool transposed : {false, true}) {
    MatmulShape whole{.m = 1, .n = 14, .k = 11, .transpose_b = transposed, .dtype = DType::kFp16};
    const std::vector<float> a = integers(11, 4), b = integers(11 * 14, 5);
    const Elements left(whole.dtype, a), right(whole.dtype, b), out(whole.dtype, 14);
    MatmulShape shape = whole;
    shape.n = 7;
    shape.row_b = transposed ? 11 : 14;
    MatmulPlan plan(cublas(), shape, kWhere);
    for (size_t cut = 0; cut < 2; ++cut) {
      const size_t start = cut * 7 * (transposed ? 11 : 1);
      multiply(plan, left.get(), static_cast<char*>(right.get()) + start * 2,
               static_cast<char*>(out.get()) + cut * 7 * 2);
    }
    expect_equal(out.read(), rounded(whole.dtype, gemm(whole, a, b, {})), describe(shape));
  }
}

/// Operands that begin one element after a multiple of 16 bytes: each nonempty subset of A, B and
/// C.
void test_unaligned_operands() {
  const std::vector<float> a = integers(16 * 32, 1), b = integers(32 * 24, 2);
  for (const DType type : kTypes) {
    const auto size = static_cast<int64_t>(hirgen::size_of(type));
    for (int form = 1; form < 8; ++form) {
      const int64_t first[] = {form & 1, (form >> 1) & 1, (form >> 2) & 1};
      const auto bytes = [&](int operand) { return first[operand] == 0 ? int64_t{16} : size; };
      MatmulShape shape{.m = 16, .n = 24, .k = 32, .align_a = bytes(0), .align_b = bytes(1)};
      shape.align_c = bytes(2);
      shape.dtype = type;
      const Elements left(type, a, first[0]), right(type, b, first[1]);
      const Elements out(type, 16 * 24, first[2]);
      MatmulPlan plan(cublas(), shape, kWhere);
      multiply(plan, left.get(), right.get(), out.get());
      expect_equal(out.read(), rounded(type, gemm(shape, a, b, {})), describe(shape));
    }
  }
}

}  // namespace

int main() {
  return run("math_matmul", {test_every_form, test_gelu, test_batches_may_share_an_operand,
                             test_slices_at_odd_rows, test_columns_of_b, test_unaligned_operands});
}
