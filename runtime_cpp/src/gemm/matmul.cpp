#include "hirgen/matmul.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gemm/matrix.hpp"
#include "gemm/plan_book.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

std::atomic<uint64_t> plan_changes{0};

namespace {

/// cuBLASLt's name of an epilogue. Its gelu is the tanh form.
cublasLtEpilogue_t epilogue_of(const MatmulShape& s) {
  switch (s.epilogue) {
#define HG_CASE(enumerator, name, alone, with_bias) \
  case Epilogue::enumerator:                        \
    return s.bias ? (with_bias) : (alone);
    HG_EPILOGUES(HG_CASE)
#undef HG_CASE
    case Epilogue::kNone:
      break;
  }
  return s.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

const char* spelling(Epilogue epilogue) {
#define HG_NAME(enumerator, name, ...) #name,
  static constexpr const char* kNames[] = {"", HG_EPILOGUES(HG_NAME)};
#undef HG_NAME
  return kNames[static_cast<int>(epilogue)];
}

template <typename T>
void set(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t attribute, const T& value,
         const char* where) {
  HG_CHECK(cublasLtMatmulDescSetAttribute(op, attribute, &value, sizeof(value)), where);
}

/// The limits of the heuristic's choice, destroyed with its scope.
class Preference {
 public:
  Preference(const MatmulShape& shape, const char* where) : where_(where) {
    HG_CHECK(cublasLtMatmulPreferenceCreate(&preference_), where);
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    // Partial sums of a split k axis may only meet in fp32, or results would be rounded twice.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    // cuBLASLt's A is our B: the operands are swapped.
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, operand_b(shape).alignment(shape.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, operand_a(shape).alignment(shape.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, result(shape).alignment(shape.result()));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, result(shape).alignment(shape.result()));
  }
  ~Preference() { static_cast<void>(cublasLtMatmulPreferenceDestroy(preference_)); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    HG_CHECK(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof(value)),
             where_);
  }

  const char* where_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

std::string describe(const MatmulShape& s) {
  const auto matrix = [](const char* name, int64_t rows, int64_t cols, bool transposed) {
    return std::string(name) + "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]" +
           (transposed ? "^T" : "");
  };
  const Matrix a = given_a(s), b = given_b(s), c = given_c(s);
  const auto aligned = [](const char* name, const Matrix& to, DType type) {
    return to.alignment(type) == to.row_alignment(type)
               ? ""
               : std::string(", ") + name + " at " + std::to_string(to.alignment(type)) + " bytes";
  };
  return matrix("C", s.m, s.n, false) + " = " + matrix("A", a.rows, a.cols, s.transpose_a) + " " +
         matrix("B", b.rows, b.cols, s.transpose_b) +
         (s.bias ? " + bias[" + std::to_string(s.n) + "]" : "") +
         (s.addend ? matrix(" + addend", s.m, s.n, false) : "") +
         (s.epilogue == Epilogue::kNone ? "" : std::string(", then ") + spelling(s.epilogue)) +
         ", " + spelling(s.dtype) +
         (s.result() == s.dtype ? "" : std::string(" to ") + spelling(s.result())) +
         (s.row_b > 0 ? ", rows of B at stride " + std::to_string(s.row_b) : "") +
         (s.packs() ? ", packed" + std::string(s.pack_a ? " A" : "") + (s.pack_b ? " B" : "") +
                          (s.pack_c ? " C" : "")
                    : "") +
         (s.batch > 1
              ? ", " + std::to_string(s.batch) + " times at strides " + std::to_string(s.stride_a) +
                    ", " + std::to_string(s.stride_b) + ", " + std::to_string(s.stride_c)
              : "") +
         aligned("A", a, s.dtype) + aligned("B", b, s.dtype) + aligned("C", c, s.result());
}

namespace {

/// cuBLASLt counts batches, rows and columns in an int; the emitter rejects specs with larger ones.
void require_extents(const MatmulShape& s, const char* where) {
  if (std::max({s.m, s.n, s.k, s.batch}) <= std::numeric_limits<int32_t>::max()) return;
  throw Error(Code::kInternal,
              std::string(where) + ": cuBLASLt has no GEMM of so many rows: " + describe(s));
}

}  // namespace

MatmulPlan::MatmulPlan(const MatmulShape& shape, const char* where, bool rounded)
    : MatmulPlan() {  // from here on, the destructor runs if this constructor throws
  shape_ = shape;
  require_extents(shape, where);
  HG_CHECK(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F), where);
  set(op, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, where);
  set(op, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, where);
  // The bias runs along the rows of the column-major result: along n of the row-major one.
  set(op, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape), where);
  const Matrix left = operand_a(shape), right = operand_b(shape);
  a = (rounded ? left.rounded(!shape.transpose_a) : left).layout(shape.dtype, where);
  b = (rounded ? right.rounded(shape.transpose_b) : right).layout(shape.dtype, where);
  c = result(shape).layout(shape.result(), where);
}

MatmulPlan::MatmulPlan(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where)
    : MatmulPlan(shape, where) {
  take_first(cublas, where);
}

MatmulPlan::MatmulPlan(Context& context, const MatmulShape& shape, const char* where)
    : MatmulPlan(shape, where) {
  PlanBook& book = context.plans();
  if (const auto choice = book.choice(context.cublas(), *this)) {
    take(*choice, PlanSource::kFile);
  } else {
    take_first(context.cublas(), where);
  }
  book.add(this);
  book_ = &book;
}

void MatmulPlan::take_first(cublasLtHandle_t cublas, const char* where) {
  const auto found = candidates(cublas, 1, where);
  if (found.empty()) {
    throw Error(Code::kDevice, std::string(where) + ": cuBLASLt has no algorithm for " +
                                   describe(shape_) + " with a workspace of " +
                                   std::to_string(kWorkspaceBytes >> 20) + " MiB");
  }
  take(found.front(), PlanSource::kHeuristic);
}

MatmulPlan::~MatmulPlan() {
  if (book_ != nullptr) book_->remove(this);
  if (c != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(c));
  if (b != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(b));
  if (a != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(a));
  if (op != nullptr) static_cast<void>(cublasLtMatmulDescDestroy(op));
}

MatmulPlan::MatmulPlan(MatmulPlan&& other) noexcept : MatmulPlan() { *this = std::move(other); }

MatmulPlan& MatmulPlan::operator=(MatmulPlan&& other) noexcept {
  std::swap(op, other.op);
  std::swap(a, other.a);
  std::swap(b, other.b);
  std::swap(c, other.c);
  std::swap(algo, other.algo);
  std::swap(workspace_bytes, other.workspace_bytes);
  std::swap(source, other.source);
  std::swap(shape_, other.shape_);
  std::swap(bias_, other.bias_);
  std::swap(book_, other.book_);
  if (book_ != nullptr) book_->exchange(this, &other);
  if (other.book_ != nullptr && other.book_ != book_) other.book_->exchange(this, &other);
  return *this;
}

size_t MatmulPlan::scratch_bytes() const {
  return packed_operands(shape_).bytes +
         (book_ != nullptr && book_->tunes() ? kWorkspaceBytes : workspace_bytes);
}

void MatmulPlan::set_bias(const void* bias, const char* where) {
  bias_ = bias;
  set(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, where);
}

// If rows are aligned and k is no multiple of 8 elements, cuBLASLt can use the algorithms of the
// next multiple. They are several times as fast, but its heuristic does not offer them.
std::vector<MatmulCandidate> MatmulPlan::candidates(cublasLtHandle_t cublas, int limit,
                                                    const char* where) const {
  const bool aligned = operand_a(shape_).alignment(shape_.dtype) == 16 &&
                       operand_b(shape_).alignment(shape_.dtype) == 16;
  std::vector<MatmulCandidate> fast;
  if (aligned && size_of(shape_.dtype) == 2 && shape_.k % kPackElements != 0) {
    for (const MatmulCandidate& one :
         offered(cublas, MatmulPlan(shape_, where, /*rounded=*/true), limit, where)) {
      if (const auto fits = check(cublas, one.algo)) fast.push_back(*fits);
    }
  }
  return fast.empty() ? offered(cublas, *this, limit, where) : fast;
}

std::vector<MatmulCandidate> MatmulPlan::offered(cublasLtHandle_t cublas, const MatmulPlan& by,
                                                 int limit, const char* where) const {
  const Preference preference(shape_, where);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(limit));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      cublas, by.op, by.b, by.a, by.c, by.c, preference.get(), limit, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  HG_CHECK(status, where);
  std::vector<MatmulCandidate> candidates;
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) {
      candidates.push_back({result.algo, result.workspaceSize});
    }
  }
  return candidates;
}

std::optional<MatmulCandidate> MatmulPlan::check(cublasLtHandle_t cublas,
                                                 const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(cublas, op, b, a, c, c, &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspaceBytes) return {};
  return MatmulCandidate{algorithm, result.workspaceSize};
}

void MatmulPlan::take(const MatmulCandidate& candidate, PlanSource by) {
  algo = candidate.algo;
  workspace_bytes = candidate.workspace_bytes;
  source = by;
}

void MatmulPlan::use(const MatmulCandidate& candidate, PlanSource by) {
  take(candidate, by);
  ++plan_changes;
}

}  // namespace hirgen
