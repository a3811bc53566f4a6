// Products by cuBLASLt: everything that can be decided before a call is decided here.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// C[m, n] = A[m, k] B[k, n] (+ bias[n]), row-major, batched with constant strides.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements between batches
  bool transpose_a = false;                          ///< A is stored [k, m]
  bool transpose_b = false;                          ///< B is stored [n, k], as linear's weight is
  bool bias = false;  ///< adds bias[n], of the output's type, to every row
  DType dtype = DType::kBf16;
};

/// The product in words, for messages: "C[4, 8] = A[4, 16] B[16, 8], bf16".
std::string describe(const MatmulShape& shape);

/// An algorithm for a product, and the workspace that it needs.
struct MatmulCandidate {
  cublasLtMatmulAlgo_t algo{};
  size_t workspace_bytes = 0;
};

/// Descriptors, layouts and the algorithm of one product. Operands are contiguous within
/// a batch and start at multiples of 16 bytes, or of a row if a row is not such a
/// multiple. Sums are fp32 and rounded once. cuBLASLt is column-major: a
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
  /// Asks the heuristic for the first algorithm that fits; throws Error. `where` is the
  /// spec position, a string that outlives the plan.
  MatmulPlan(Context& context, const MatmulShape& shape, const char* where)
      : MatmulPlan(context.cublas(), shape, where) {}
  MatmulPlan(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where);
  ~MatmulPlan();
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;
  MatmulPlan(MatmulPlan&& other) noexcept;
  MatmulPlan& operator=(MatmulPlan&& other) noexcept;

  /// Sets the bias vector of the next call; it is part of the descriptor.
  void set_bias(const void* bias, const char* where);

  /// The heuristic's algorithms within kWorkspaceBytes, best guess first, at most
  /// `limit`; what a tuner times. Empty if there is none.
  std::vector<MatmulCandidate> candidates(cublasLtHandle_t cublas, int limit,
                                          const char* where) const;
  /// Takes one of them for the calls to come.
  void use(const MatmulCandidate& candidate);

 private:
  MatmulShape shape_;
};

/// Workspace of one concurrent stream: two products at once may not share one.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

inline constexpr float kOne = 1.0F;   ///< alpha
inline constexpr float kZero = 0.0F;  ///< beta

}  // namespace hirgen
