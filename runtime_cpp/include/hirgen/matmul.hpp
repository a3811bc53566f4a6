// GEMMs by cuBLASLt or another library. A plan chooses the algorithm before the first call.
#pragma once

#include <cublasLt.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/function_rows.hpp"
#include "hirgen/gemm_call.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

class PlanBook;

/// The function that a GEMM applies to each element of its result before rounding.
#define HG_ENUMERATOR(enumerator, ...) enumerator,
enum class Epilogue { kNone, HG_EPILOGUES(HG_ENUMERATOR) };
#undef HG_ENUMERATOR

/// The shape of C[m, n] = epilogue(A[m, k] B[k, n] (+ bias[n]) (+ addend[m, n])), row-major,
/// batched with constant strides. The addend has the layout of C. It may be C itself; otherwise it
/// must not overlap C.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements between batches; 0: one for all
  int64_t row_b = 0;                                 ///< elements between rows of B; 0: dense
  /// Alignment in bytes, at most 16, of all pointers to A, to B, and to C and the addend.
  int64_t align_a = 16, align_b = 16, align_c = 16;
  bool transpose_a = false;  ///< A is stored [k, m]
  bool transpose_b = false;  ///< B is stored [n, k], like the weight of `linear`
  bool bias = false;         ///< adds bias[n], in the output's type, to every row
  bool addend = false;       ///< adds a matrix in the output's type
  /// A and B have 8-bit elements and fp32 scales. A has a scale for each kScaleBlock elements of a
  /// row, B one for each square block of kScaleBlock x kScaleBlock elements. kScaleBlock divides n
  /// and k. With scales, there is one batch and no bias, addend or epilogue, and the result has
  /// type kBf16 or kFp32.
  bool scales = false;
  /// A and B have 8-bit elements and fp32 scales, one for each row of A and one for each column of
  /// B, by which the sums are multiplied in fp32. The other rules are those of `scales`.
  bool row_scales = false;
  bool pack_a = false;  ///< first copies A to aligned rows in the workspace; see MatmulPlan::run
  bool pack_b = false;  ///< first copies B in the same way
  bool pack_c = false;  ///< C is computed in aligned rows, then copied back; requires pack_b
  Epilogue epilogue = Epilogue::kNone;
  DType dtype = DType::kBf16;  ///< of A
  /// The type of B if it differs from the type of A. Then one of the two is kFp8E4m3, the other
  /// kFp8E5m2.
  std::optional<DType> dtype_b = std::nullopt;
  /// The type of the output, bias and addend if it differs from the type of A: kFp32, or for 8-bit
  /// operands any floating-point type. With 8-bit operands and an fp32 output, there is no bias.
  std::optional<DType> dtype_c = std::nullopt;

  DType type_b() const { return dtype_b.value_or(dtype); }
  DType result() const { return dtype_c.value_or(dtype); }
  bool packs() const { return pack_a || pack_b || pack_c; }
  /// Whether calls copy operands to the workspace.
  bool copies() const { return packs() || scales || row_scales; }
};

/// The number of 16-bit elements in a 16-byte access. The fast kernels of GEMM libraries need rows
/// whose offsets are multiples of this number.
constexpr int64_t kPackElements = 8;
/// Returns the length of a row in elements, rounded up to a multiple of kPackElements.
constexpr int64_t packed_row(int64_t columns) {
  return (columns + kPackElements - 1) / kPackElements * kPackElements;
}

/// The extent of a block with one scale, in elements along each of its axes.
constexpr int64_t kScaleBlock = 128;

/// Returns the GEMM in words: "C[4, 8] = A[4, 16] B[16, 8], bf16". The text is the key for choices
/// of algorithms: shapes with the same text can use the same algorithm.
std::string describe(const MatmulShape& shape);

/// The source of a plan's algorithm: the library's heuristic, a plan file, or the tuner.
enum class PlanSource { kHeuristic, kFile, kTuned };

/// The number of calls of MatmulPlan::use() in this process. When it changes, CUDA graphs captured
/// before may still use an old algorithm (GraphCache).
extern std::atomic<uint64_t> plan_changes;

/// An algorithm of a GEMM library, as opaque bytes, which are valid only for one version of the
/// library and one GPU model.
struct GemmAlgorithm {
  std::string library;  ///< GemmLibrary::name
  std::string bytes;

  bool operator==(const GemmAlgorithm&) const = default;
};

/// An algorithm for a GEMM, and the size of the workspace that it needs.
struct MatmulCandidate {
  GemmAlgorithm algorithm;
  size_t workspace_bytes = 0;
};

/// One GEMM, the library that computes it (src/gemm/library.hpp), and its algorithm. Each matrix is
/// dense, unless row_b is set. Operands must be aligned to align_a, align_b and align_c bytes, or
/// to the alignment of their rows if that is less. A bias starts at a multiple of 16 bytes. Sums
/// are fp32 and rounded once. cuBLASLt is column-major: a row-major C = A B is the column-major C'
/// = B' A', so B is its first operand. The emitted call is
///
///   cublasLtMatmul(cublas, plan.op, &hirgen::kOne, B, plan.b, A, plan.a, &hirgen::kZero,
///                  C, plan.c, C, plan.c, &plan.algo, workspace, plan.workspace_bytes, stream)
///
/// If the shape has an addend, kOne and the addend's pointer replace kZero and the C before plan.c.
/// The heuristic chooses an algorithm without regard to the addend, but a tuner times the call with
/// it. If the plan uses another library, the same line within HG_CHECK runs that library.
struct MatmulPlan : GemmCall {
  PlanSource source = PlanSource::kHeuristic;

  MatmulPlan();
  /// Uses the algorithm that the context's plan book has for this shape. Otherwise uses the first
  /// candidate of the first library that has one; HIRGEN_GEMM restricts the choice to one library.
  /// Throws Error if there is none. Registers the plan in the book. `where` is the spec position, a
  /// string that outlives the plan.
  MatmulPlan(Context& context, const MatmulShape& shape, const char* where);
  /// Uses the first candidate of the first library that has one, without a plan book.
  MatmulPlan(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where);
  ~MatmulPlan();
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;
  MatmulPlan(MatmulPlan&& other) noexcept;
  MatmulPlan& operator=(MatmulPlan&& other) noexcept;

  const MatmulShape& shape() const { return shape_; }
  const GemmAlgorithm& algorithm() const { return algorithm_; }
  /// The size in bytes of the workspace to allocate. It holds the copies of operands and the
  /// library's workspace: workspace_bytes, or kWorkspaceBytes if a tuner may choose another
  /// algorithm.
  size_t scratch_bytes() const;

  /// Sets the bias vector of the next calls, in device memory.
  void set_bias(const void* bias, const char* where);

  /// Sets the scales of the next calls, in device memory, fp32 and row-major: [m, k / kScaleBlock]
  /// for A and [n / kScaleBlock, k / kScaleBlock] for B; with row_scales, [m] for A and [n] for B.
  void set_scales(const void* scales_a, const void* scales_b) {
    op.scales_a = scales_a;
    op.scales_b = scales_b;
  }

  /// Enqueues the GEMM of the plan's library, and the copies that the shape needs. With scales of
  /// blocks, run() first copies to the workspace: the scales of A, in cuBLASLt's layout; the scales
  /// of B, unless cuBLASLt can read them in place; and A if 4 does not divide m. It copies scales
  /// of rows if they are not aligned. If no library scales rows, the GEMM rounds its sums to the
  /// type of C, and then a kernel scales C. If the shape packs, run() first copies the packed
  /// operands to aligned rows in the workspace. If the GEMM writes C in the workspace, run() then
  /// copies the result to `c`. `added` is null without an addend.
  void run(const void* a, const void* b, const void* added, void* c, void* workspace,
           cudaStream_t stream, const char* where) const;

  /// Returns algorithms with workspaces of at most kWorkspaceBytes for a tuner to time: at most
  /// `limit` of each library that can compute the shape. The plan's current library comes first;
  /// within a library, the best guess comes first. Empty if there are none.
  std::vector<MatmulCandidate> candidates(int limit, const char* where) const;
  /// Returns the algorithm as a candidate. Returns nullopt if its library is unknown, excluded by
  /// HIRGEN_GEMM, or cannot compute this shape by this algorithm in a workspace of kWorkspaceBytes.
  /// The bytes may come from an untrusted file.
  std::optional<MatmulCandidate> check(const GemmAlgorithm& algorithm) const;
  /// Uses `candidate`, a result of candidates() or check(), for all later calls.
  void use(const MatmulCandidate& candidate, PlanSource by);

 private:
  /// Makes the methods of the libraries for this shape.
  void prepare(cublasLtHandle_t cublas, const char* where);
  void take(const MatmulCandidate& candidate, PlanSource by);
  void take_first(const char* where);
  /// Returns the method of a library; null if the plan has none for this shape.
  GemmMethod* method_of(const std::string& library) const;

  MatmulShape shape_;
  MatmulShape computed_;  // shape_, but without row_scales if a kernel scales C after the GEMM
  std::vector<std::unique_ptr<GemmMethod>> methods_;  // one for each library that can be used
  GemmMethod* method_ = nullptr;                      // the method in use
  GemmAlgorithm algorithm_;
  PlanBook* book_ = nullptr;  // null if the plan is in no book
};

/// Calls plan.run(). Emitted programs call this function if the shape packs or has scales, so that
/// their source shows that operands are copied.
inline void packed_gemm(cublasLtHandle_t /*cublas*/, const MatmulPlan& plan, const void* a,
                        const void* b, const void* added, void* c, void* workspace,
                        cudaStream_t stream, const char* where) {
  plan.run(a, b, added, c, workspace, stream, where);
}

/// The largest workspace, in bytes, that an algorithm may use. GEMMs that run at the same time need
/// separate workspaces.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

inline constexpr float kOne = 1.0F;   ///< alpha
inline constexpr float kZero = 0.0F;  ///< beta without an addend; kOne is beta with an addend

}  // namespace hirgen
