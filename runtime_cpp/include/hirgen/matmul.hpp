// Products by cuBLASLt: everything that can be decided before a call is decided here.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// C[m, n] = A[m, k] B[k, n] (+ bias[n]), row-major, batched with constant strides.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements between batches
  bool transpose_a = false;  ///< A is stored [k, m]
  bool transpose_b = false;  ///< B is stored [n, k], as linear's weight is
  bool bias = false;         ///< adds bias[n], of the output's type, to every row
  DType dtype = DType::kBf16;
};

/// Descriptors, layouts and the algorithm of one product. cuBLASLt is column-major: a
/// row-major C = A B is the column-major C' = B' A', so B is its first operand. The
/// emitted call reads
///
///   cublasLtMatmul(cublas, plan.op, &hirgen::kOne, B, plan.b, A, plan.a, &hirgen::kZero,
///                  C, plan.c, C, plan.c, &plan.algo, workspace, plan.workspace_bytes, stream)
struct MatmulPlan {
  cublasLtMatmulDesc_t op = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algo{};
  size_t workspace_bytes = 0;

  MatmulPlan() = default;
  /// Asks the heuristic for the first algorithm that fits; throws Error.
  MatmulPlan(Context& context, const MatmulShape& shape, const char* where);
  ~MatmulPlan();
  MatmulPlan(MatmulPlan&& other) noexcept;
  MatmulPlan& operator=(MatmulPlan&& other) noexcept;

  /// Sets the bias vector of the next call; it is part of the descriptor.
  void set_bias(const void* bias, const char* where);
};

/// Workspace of one concurrent stream: two products at once may not share one.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

inline constexpr float kOne = 1.0F;   ///< alpha
inline constexpr float kZero = 0.0F;  ///< beta

}  // namespace hirgen
