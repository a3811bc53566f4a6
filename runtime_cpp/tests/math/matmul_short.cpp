// Tests of GEMMs of 8-bit operands, with and without scales.
#include <string>
#include <utility>
#include <vector>

#include "gemm/cublaslt.hpp"
#include "matmul.hpp"

namespace {

using namespace math_test;

/// 8-bit operands with each type of result; B and C are packed if rows of the result are unaligned.
void test_short_operands() {
  for (const DType a : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const DType b : {DType::kFp8E4m3, DType::kFp8E5m2}) {
      for (const DType c : kTypes) {
        for (int form = 0; form < 32; ++form) {
          MatmulShape shape{.m = 37, .n = 48, .k = 112, .transpose_b = true};
          shape.dtype = a, shape.dtype_b = b, shape.dtype_c = c;
          shape.bias = (form & 1) != 0;
          shape.batch = (form & 2) != 0 ? 3 : 1;
          shape.addend = (form & 4) != 0;
          shape.epilogue = (form & 8) != 0 ? Epilogue::kRelu : Epilogue::kNone;
          shape.pack_b = shape.pack_c = (form & 16) != 0;
          if (shape.pack_c) shape.n = 43;
          shape.stride_b = shape.k * shape.n;
          const bool both = a == DType::kFp8E5m2 && b == a;
          if (!both && !(shape.bias && c == DType::kFp32)) check(shape);
        }
      }
    }
  }
}

/// Checks a GEMM with a scale for each block of A and of B. `shift` moves the scales of B by that
/// number of elements, to where cuBLASLt cannot read them.
void check_scales(MatmulShape s, int64_t shift) {
  constexpr int64_t kBlock = hirgen::kScaleBlock;
  s.transpose_b = s.scales = true;
  const int64_t blocks = s.k / kBlock, squares = s.n / kBlock;
  const std::vector<float> a = integers(index(s.m * s.k), 1), b = integers(index(s.n * s.k), 2);
  std::vector<float> of_a, of_b(index(shift));
  for (int64_t i = 0; i < s.m * blocks; ++i) of_a.push_back(static_cast<float>(1 + i % 5) / 4);
  for (int64_t i = 0; i < squares * blocks; ++i) of_b.push_back(static_cast<float>(i % 7 - 2));
  const Elements left(s.dtype, a), right(s.type_b(), b), out(s.result(), s.m * s.n);
  const Elements scales_a(DType::kFp32, of_a), scales_b(DType::kFp32, of_b);
  std::vector<float> want;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const float scale = of_a[index(i * blocks + k / kBlock)] *
                            of_b[index(shift + j / kBlock * blocks + k / kBlock)];
        sum += a[index(i * s.k + k)] * b[index(j * s.k + k)] * scale;
      }
      want.push_back(sum);
    }
  }
  MatmulPlan plan(cublas(), s, kWhere);
  plan.set_scales(scales_a.get(), static_cast<float*>(scales_b.get()) + shift);
  multiply_packed(plan, left.get(), right.get(), out.get(), nullptr);
  expect_equal(out.read(), rounded(s.result(), want), describe(s));
}

/// Scales whose rows are, and are not, a multiple of 16 bytes, with one block and with several.
void test_scales_of_blocks() {
  for (const DType type : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const DType result : {DType::kBf16, DType::kFp32}) {
      for (const int64_t k : {128, 512, 640}) {
        MatmulShape shape{.m = k == 640 ? 37 : 36, .n = k == 512 ? 128 : 384, .k = k};
        shape.dtype = type, shape.dtype_b = DType::kFp8E4m3, shape.dtype_c = result;
        check_scales(shape, 0);
        check_scales(shape, 1);
      }
    }
  }
}

/// Checks a GEMM with a scale for each row of A and each column of B. `shift` moves both scales by
/// that number of elements, to where cuBLASLt may not be able to read them.
void check_row_scales(MatmulShape s, int64_t shift) {
  s.transpose_b = s.row_scales = true;
  const std::vector<float> a = integers(index(s.m * s.k), 1), b = integers(index(s.n * s.k), 2);
  std::vector<float> rows(index(shift)), columns(index(shift));
  for (int64_t i = 0; i < s.m; ++i) rows.push_back(static_cast<float>(1 + i % 5) / 4);
  for (int64_t j = 0; j < s.n; ++j) columns.push_back(static_cast<float>(j % 7 - 2));
  const Elements left(s.dtype, a), right(s.type_b(), b), out(s.result(), s.m * s.n);
  const Elements scales_a(DType::kFp32, rows), scales_b(DType::kFp32, columns);
  std::vector<float> want = gemm(s, a, b, {});
  for (int64_t i = 0; i < s.m * s.n; ++i) {
    want[index(i)] *= rows[index(shift + i / s.n)] * columns[index(shift + i % s.n)];
  }
  MatmulPlan plan(cublas(), s, kWhere);
  plan.set_scales(static_cast<float*>(scales_a.get()) + shift,
                  static_cast<float*>(scales_b.get()) + shift);
  MatmulPlan moved(std::move(plan));
  multiply_packed(moved, left.get(), right.get(), out.get(), nullptr);
  expect_equal(out.read(), rounded(s.result(), want), describe(s));
}

/// Scales of rows in aligned and other memory, also if operands or the result are packed.
void test_scales_of_rows() {
  for (const DType result : {DType::kBf16, DType::kFp32}) {
    for (int form = 0; form < 8; ++form) {
      MatmulShape shape{.m = 37, .n = 48, .k = 112};
      shape.pack_a = (form & 1) != 0;
      shape.pack_b = shape.pack_c = (form & 2) != 0;
      if (shape.pack_c) shape.n = 43;
      shape.dtype = DType::kFp8E4m3, shape.dtype_c = result;
      check_row_scales(shape, (form & 4) != 0 ? 1 : 0);
    }
  }
  MatmulShape shape{.m = 4, .n = 8, .k = 16, .transpose_b = true};
  shape.row_scales = true, shape.dtype = DType::kFp8E4m3, shape.dtype_c = DType::kBf16;
  const std::string text =
      "C[4, 8] = A[4, 16] B[8, 16]^T, fp8_e4m3 to bf16, scales of rows, A at 16 bytes";
  expect(text.starts_with(describe(shape)), describe(shape));
}

/// refuses_scales() gives a reason for versions of cuBLASLt and GPUs that lack scales of blocks,
/// and none for others.
void test_scales_may_be_refused() {
  using hirgen::refuses_scales;
  expect(refuses_scales(120900, 9).empty() && refuses_scales(130002, 9).empty(), "Hopper");
  expect(refuses_scales(120803, 9) ==
             "scales of blocks or rows need CUDA 12.9, and this cuBLASLt is 12.8",
         refuses_scales(120803, 9));
  expect(refuses_scales(130002, 10) ==
             "it has scales of blocks or rows on Hopper GPUs, and this one is of capability 10",
         refuses_scales(130002, 10));
}

#ifdef HIRGEN_CPU_DEVICE
/// The error of a failed call names the call, the shape and the scale modes. Here A is unaligned,
/// for which a GPU reports no error.
void test_errors_name_the_gemm() {
  MatmulShape s{.m = 4, .n = 128, .k = 128, .transpose_b = true};
  s.scales = true, s.dtype = DType::kFp8E4m3, s.dtype_c = DType::kBf16;
  const Elements a(s.dtype, 2 * s.m * s.k), b(s.dtype, s.n * s.k), c(s.result(), s.m * s.n);
  const Elements scales(DType::kFp32, 4);
  MatmulPlan plan(cublas(), s, kWhere);
  plan.set_scales(scales.get(), scales.get());
  std::string text;
  try {
    multiply_packed(plan, static_cast<char*>(a.get()) + 1, b.get(), c.get(), nullptr);
  } catch (const hirgen::Error& error) {
    text = error.what();
  }
  for (const std::string& part : {std::string(kWhere), std::string("cublasLtMatmul("), describe(s),
                                  std::string("(cuBLASLt's A: BLK128x128_32F, B: VEC128_32F)")}) {
    expect(text.find(part) != std::string::npos, "an error with " + part + ": " + text);
  }
}
#endif

}  // namespace

int main() {
  return run("math_matmul_short", {
                                      test_short_operands,
                                      test_scales_of_blocks,
                                      test_scales_of_rows,
                                      test_scales_may_be_refused,
#ifdef HIRGEN_CPU_DEVICE
                                      test_errors_name_the_gemm,
#endif
                                  });
}
