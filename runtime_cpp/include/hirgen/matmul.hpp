// GEMMs by cuBLASLt: everything that can be decided before a call is decided here.
#pragma once

#include <cublasLt.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

class PlanBook;

/// What is applied to each element of a result before it is rounded.
enum class Epilogue { kNone, kRelu, kGeluTanh };

/// C[m, n] = epilogue(A[m, k] B[k, n] (+ bias[n]) (+ addend[m, n])), row-major, batched with
/// constant strides. The addend lies in memory as C does, elsewhere.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements between batches
  int64_t row_b = 0;                                 ///< elements between rows of B; 0: dense
  /// Bytes, up to 16, that all pointers to A and B are multiples of, and those to C and the addend.
  int64_t align_a = 16, align_b = 16, align_c = 16;
  bool transpose_a = false;  ///< A is stored [k, m]
  bool transpose_b = false;  ///< B is stored [n, k], as linear's weight is
  bool bias = false;         ///< adds bias[n], of the output's type, to every row
  bool addend = false;       ///< adds a matrix of the output's type
  bool fp32_result = false;  ///< the output is fp32, and so are bias and addend
  bool pack_a = false;  ///< A is copied to aligned rows in the workspace first; see packed_gemm()
  bool pack_b = false;  ///< B is
  bool pack_c = false;  ///< C is computed in aligned rows there, and copied to its own; B is packed
  Epilogue epilogue = Epilogue::kNone;
  DType dtype = DType::kBf16;  ///< of A and B and, unless it is fp32, of the output

  DType result() const { return fp32_result ? DType::kFp32 : dtype; }
  bool packs() const { return pack_a || pack_b || pack_c; }
};

/// Elements of 16 bits that one access of a GEMM's fast kernels reads: they want rows at multiples
/// of that.
constexpr int64_t kPackElements = 8;
/// A length of rows, rounded up to it.
constexpr int64_t packed_row(int64_t columns) {
  return (columns + kPackElements - 1) / kPackElements * kPackElements;
}

/// Where a packed shape's copies are in its workspace, in bytes from its start. cuBLASLt's own
/// workspace begins at `bytes`.
struct PackedOperands {
  size_t a = 0, b = 0, c = 0, bias = 0, bytes = 0;
};
PackedOperands packed_operands(const MatmulShape& shape);

/// The GEMM in words: "C[4, 8] = A[4, 16] B[16, 8], bf16". Equal shapes have equal words,
/// and others have others: it is the key of a choice of algorithm.
std::string describe(const MatmulShape& shape);

/// Who chose a plan's algorithm.
enum class PlanSource { kHeuristic, kFile, kTuned };

/// Counts the changes that MatmulPlan::use() made in this process. A graph that was captured
/// before one may hold the algorithm from before it.
extern std::atomic<uint64_t> plan_changes;

/// An algorithm for a GEMM, and the workspace that it needs.
struct MatmulCandidate {
  cublasLtMatmulAlgo_t algo{};
  size_t workspace_bytes = 0;
};

/// Descriptors, layouts and the algorithm of one GEMM. Operands are contiguous within
/// a batch, unless row_b says otherwise, and start at multiples of what the shape says, or of a
/// row if a row is no such multiple; a bias starts at a multiple of 16 bytes. Sums are fp32 and
/// rounded once. cuBLASLt is column-major: a row-major C = A B is the column-major C' = B' A', so B
/// is its first operand. The emitted call reads
///
///   cublasLtMatmul(cublas, plan.op, &hirgen::kOne, B, plan.b, A, plan.a, &hirgen::kZero,
///                  C, plan.c, C, plan.c, &plan.algo, workspace, plan.workspace_bytes, stream)
///
/// with kOne and the addend's pointer before plan.c in place of kZero and the first C where the
/// shape has an addend. The heuristic is not told of it, but a tuner times the call as it is.
struct MatmulPlan {
  cublasLtMatmulDesc_t op = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algo{};
  size_t workspace_bytes = 0;

  PlanSource source = PlanSource::kHeuristic;

  MatmulPlan() = default;
  /// Takes the algorithm that the context's plan book has for this shape, or else the
  /// heuristic's first one that fits; throws Error. The book knows the plan from then on.
  /// `where` is the spec position, a string that outlives the plan.
  MatmulPlan(Context& context, const MatmulShape& shape, const char* where);
  /// The heuristic's first algorithm; no book knows of the plan.
  MatmulPlan(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where);
  ~MatmulPlan();
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;
  MatmulPlan(MatmulPlan&& other) noexcept;
  MatmulPlan& operator=(MatmulPlan&& other) noexcept;

  const MatmulShape& shape() const { return shape_; }
  /// The workspace to have for it, in bytes: what its algorithm needs, or kWorkspaceBytes where a
  /// tuner may take another one.
  size_t room() const;

  /// Sets the bias vector of the next call; it is part of the descriptor. Of a plan that packs C,
  /// packed_gemm() takes it from bias().
  void set_bias(const void* bias, const char* where);
  const void* bias() const { return bias_; }

  /// The heuristic's algorithms within kWorkspaceBytes, best guess first, at most
  /// `limit`; what a tuner times. Empty if there is none.
  std::vector<MatmulCandidate> candidates(cublasLtHandle_t cublas, int limit,
                                          const char* where) const;
  /// The algorithm as a candidate, or nothing if cuBLASLt cannot multiply this shape with it
  /// within kWorkspaceBytes. Its bytes may come from anywhere.
  std::optional<MatmulCandidate> check(cublasLtHandle_t cublas,
                                       const cublasLtMatmulAlgo_t& algorithm) const;
  /// Takes one of them for the calls to come.
  void use(const MatmulCandidate& candidate, PlanSource by);

 private:
  /// Descriptors and layouts, with extents rounded up to packed_row() where they are `rounded`.
  MatmulPlan(const MatmulShape& shape, const char* where, bool rounded = false);
  void take(const MatmulCandidate& candidate, PlanSource by);
  void take_first(cublasLtHandle_t cublas, const char* where);

  /// The heuristic's algorithms for descriptors of this plan's shape or of a slightly larger one.
  std::vector<MatmulCandidate> offered(cublasLtHandle_t cublas, const MatmulPlan& by, int limit,
                                       const char* where) const;

  MatmulShape shape_;
  const void* bias_ = nullptr;
  PlanBook* book_ = nullptr;  // that knows this plan, if one does
};

/// A call of a plan whose shape packs: copies the operands that it packs to aligned rows in the
/// workspace, multiplies, and copies the result to C where that is packed. `added` is nullptr
/// without an addend.
void packed_gemm(cublasLtHandle_t cublas, const MatmulPlan& plan, const void* a, const void* b,
                 const void* added, void* c, void* workspace, cudaStream_t stream,
                 const char* where);

/// What an algorithm may need of a workspace. Two GEMMs at once may not share one.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

inline constexpr float kOne = 1.0F;   ///< alpha
inline constexpr float kZero = 0.0F;  ///< beta without an addend; with one it is kOne

}  // namespace hirgen
