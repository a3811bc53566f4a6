// GEMMs that a MatmulPlan describes, issued as emitted programs issue them, and their results by
// loops on the host. All sums are exact in fp32, so results must be equal, except after gelu_tanh.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "hirgen/matmul.hpp"
#include "test.hpp"

namespace math_test {

using hirgen::Epilogue;
using hirgen::MatmulPlan;
using hirgen::MatmulShape;

constexpr const char* kWhere = "spec.yaml:9:5 C = matmul(A, B)";

inline cublasLtHandle_t cublas() {
  static cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    HG_CHECK(cublasLtCreate(&made), "test");
    return made;
  }();
  return handle;
}

inline void* workspace() {
  static const Buffer buffer(hirgen::kWorkspaceBytes);
  return buffer.get();
}

/// Issues the GEMM the way an emitted program does.
inline void multiply(MatmulPlan& plan, const void* a, const void* b, void* c,
                     const void* addend = nullptr) {
  const float* beta = addend == nullptr ? &hirgen::kZero : &hirgen::kOne;
  HG_CHECK(cublasLtMatmul(cublas(), plan.op, &hirgen::kOne, b, plan.b, a, plan.a, beta,
                          addend == nullptr ? c : addend, plan.c, c, plan.c, &plan.algo,
                          workspace(), plan.workspace_bytes, stream()),
           kWhere);
}

/// Issues the GEMM of a shape that packs operands, with a workspace of its own.
inline void multiply_packed(MatmulPlan& plan, const void* a, const void* b, void* c,
                            const void* addend) {
  const Buffer memory(plan.scratch_bytes());
  packed_gemm(cublas(), plan, a, b, addend, c, memory.get(), stream(), kWhere);
  HG_CHECK(cudaStreamSynchronize(stream()), kWhere);  // before the memory is freed
}

inline size_t index(int64_t i) { return static_cast<size_t>(i); }

/// Returns the result of the GEMM of `s`.
inline std::vector<float> gemm(const MatmulShape& s, const std::vector<float>& a,
                               const std::vector<float>& b, const std::vector<float>& bias,
                               const std::vector<float>& addend = {}) {
  std::vector<float> c;
  for (int64_t g = 0; g < s.batch; ++g) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        float sum = s.bias ? bias[index(j)] : 0;
        if (s.addend) sum += addend[index((g * s.m + i) * s.n + j)];
        for (int64_t k = 0; k < s.k; ++k) {
          const int64_t in_a = s.transpose_a ? k * s.m + i : i * s.k + k;
          const int64_t in_b = s.transpose_b ? j * s.k + k : k * s.n + j;
          sum += a[index(g * s.stride_a + in_a)] * b[index(g * s.stride_b + in_b)];
        }
        if (s.epilogue == Epilogue::kRelu) sum = std::max(sum, 0.0F);
        c.push_back(sum);
      }
    }
  }
  return c;
}

/// Expects that the GEMM of `s` is right for pseudorandom integers.
inline void check(MatmulShape s) {
  s.stride_a = s.m * s.k;
  s.stride_c = s.m * s.n;
  const std::vector<float> a = integers(index(s.batch * s.m * s.k), 1);
  const std::vector<float> b = integers(index(s.batch * s.k * s.n), 2);
  const std::vector<float> bias = integers(index(s.n), 3);
  const std::vector<float> addend = integers(index(s.batch * s.m * s.n), 10);
  const Elements left(s.dtype, a), right(s.type_b(), b);
  const Elements row(s.result(), bias), added(s.result(), addend);
  const Elements out(s.result(), s.batch * s.m * s.n);
  MatmulPlan plan(cublas(), s, kWhere);
  if (s.bias) plan.set_bias(row.get(), kWhere);
  const auto call = s.packs() ? multiply_packed : multiply;
  call(plan, left.get(), right.get(), out.get(), s.addend ? added.get() : nullptr);
  expect_equal(out.read(), rounded(s.result(), gemm(s, a, b, bias, addend)), describe(s));
}

}  // namespace math_test
