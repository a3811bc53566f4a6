// Tests of MatmulPlans: moves, candidates, descriptions and untrusted algorithms.
#include <string>
#include <utility>
#include <vector>

#include "matmul.hpp"

namespace {

using namespace math_test;

void test_plans_move() {
  const MatmulShape shape{.m = 8, .n = 8, .k = 8, .dtype = DType::kFp32};
  const std::vector<float> a = integers(64, 6), b = integers(64, 7);
  const Elements left(shape.dtype, a), right(shape.dtype, b), out(shape.dtype, 64);
  MatmulPlan plan;
  plan = MatmulPlan(cublas(), shape, kWhere);
  MatmulPlan moved(std::move(plan));
  multiply(moved, left.get(), right.get(), out.get());
  expect_equal(out.read(), gemm(shape, a, b, {}), "moved plan");
}

void test_every_candidate_is_right() {
  const MatmulShape shape{.m = 48, .n = 80, .k = 512};
  const std::vector<float> a = integers(48 * 512, 8), b = integers(512 * 80, 9);
  const Elements left(shape.dtype, a), right(shape.dtype, b);
  MatmulPlan plan(cublas(), shape, kWhere);
  const auto candidates = plan.candidates(8, kWhere);
  expect(!candidates.empty(), "there is a candidate");
  for (const auto& candidate : candidates) {
    expect(candidate.workspace_bytes <= hirgen::kWorkspaceBytes, "the workspace suffices");
    const Elements out(shape.dtype, 48 * 80);
    plan.use(candidate, hirgen::PlanSource::kTuned);
    multiply(plan, left.get(), right.get(), out.get());
    expect_equal(out.read(), rounded(shape.dtype, gemm(shape, a, b, {})), "candidate");
  }
}

void test_descriptions() {
  MatmulShape shape{.m = 4, .n = 8, .k = 16, .transpose_b = true, .bias = true};
  const std::string one = "C[4, 8] = A[4, 16] B[8, 16]^T + bias[8], bf16";
  expect(describe(shape) == one, describe(shape));
  shape.addend = true;
  const std::string sum = "C[4, 8] = A[4, 16] B[8, 16]^T + bias[8] + addend[4, 8], bf16";
  expect(describe(shape) == sum, describe(shape));
  shape.addend = false;
  shape.dtype_c = DType::kFp32;
  expect(describe(shape) == one + " to fp32", describe(shape));
  shape.dtype_c = {};
  shape.batch = 2;
  shape.stride_a = 64;
  shape.stride_c = 32;
  expect(describe(shape) == one + ", 2 times at strides 64, 0, 32", describe(shape));
  shape.epilogue = Epilogue::kGeluTanh;
  expect(
      describe(shape).starts_with("C[4, 8] = A[4, 16] B[8, 16]^T + bias[8], then gelu_tanh, bf16"),
      describe(shape));
  shape.epilogue = Epilogue::kNone;
  shape.batch = 1;
  shape.row_b = 24;
  expect(describe(shape) == one + ", rows of B at stride 24", describe(shape));
  shape.row_b = 0;
  shape.align_a = 8;
  shape.align_c = 2;
  expect(describe(shape) == one + ", A at 8 bytes, C at 2 bytes", describe(shape));
  shape.k = 9;  // rows of A are not aligned to more than 2 bytes anyway
  shape.align_a = 2;
  shape.align_c = 16;
  expect(describe(shape) == "C[4, 8] = A[4, 9] B[8, 9]^T + bias[8], bf16", describe(shape));
}

/// Algorithms from a file of choices, whose bytes may not be a valid algorithm.
void test_algorithms_are_checked() {
  const MatmulShape shape{.m = 48, .n = 80, .k = 512};
  const MatmulPlan plan(cublas(), shape, kWhere);
  const auto fit = plan.check(plan.algorithm());
  expect(fit && fit->workspace_bytes <= hirgen::kWorkspaceBytes, "its own algorithm fits");
  hirgen::GemmAlgorithm broken{plan.algorithm().library, std::string(64, '\xFF')};
  expect(!plan.check(broken), "bytes that are no algorithm do not fit");
  broken.bytes = plan.algorithm().bytes + '0';
  expect(!plan.check(broken), "more bytes do not fit");
  broken = {"another", plan.algorithm().bytes};
  expect(!plan.check(broken), "an algorithm of another library does not fit");
}

}  // namespace

int main() {
  return run("math_matmul_plans", {test_plans_move, test_every_candidate_is_right,
                                   test_descriptions, test_algorithms_are_checked});
}
