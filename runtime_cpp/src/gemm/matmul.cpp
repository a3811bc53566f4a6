#include "hirgen/matmul.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "gemm/cublaslt.hpp"
#include "gemm/library.hpp"
#include "gemm/matrix.hpp"
#include "gemm/packed.hpp"
#include "gemm/plan_book.hpp"
#include "hirgen/error.hpp"
#include "hirgen/row_copies.hpp"

namespace hirgen {

std::atomic<uint64_t> plan_changes{0};

MatmulPlan::MatmulPlan() = default;

MatmulPlan::MatmulPlan(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where)
    : shape_(shape) {
  prepare(cublas, where);
  take_first(where);
}

MatmulPlan::MatmulPlan(Context& context, const MatmulShape& shape, const char* where)
    : shape_(shape) {
  prepare(context.cublas(), where);
  PlanBook& book = context.plans();
  if (const auto choice = book.choice(*this)) {
    take(*choice, PlanSource::kFile);
  } else {
    take_first(where);
  }
  book.add(this);
  book_ = &book;
}

void MatmulPlan::prepare(cublasLtHandle_t cublas, const char* where) {
  computed_ = shape_;
  if (shape_.row_scales) {
    std::string reasons;
    methods_ = able_methods(cublas, shape_, &reasons, where);
    std::erase_if(methods_, [&](const auto& one) { return one->candidates(1, where).empty(); });
    if (!methods_.empty()) return;
    computed_.row_scales = false;
  }
  methods_ = gemm_methods(cublas, computed_, where);
}

void MatmulPlan::take_first(const char* where) {
  std::string names;
  for (const auto& method : methods_) {
    const auto found = method->candidates(1, where);
    if (!found.empty()) return take(found.front(), PlanSource::kHeuristic);
    names += (names.empty() ? "" : ", ") + std::string(method->library().name);
  }
  throw Error(Code::kDevice,
              format("%s: %s has no algorithm for %s with a workspace of %zu MiB", where,
                     names.c_str(), describe(shape_).c_str(), kWorkspaceBytes >> 20));
}

MatmulPlan::~MatmulPlan() {
  if (book_ != nullptr) book_->remove(this);
}

MatmulPlan::MatmulPlan(MatmulPlan&& other) noexcept : MatmulPlan() { *this = std::move(other); }

MatmulPlan& MatmulPlan::operator=(MatmulPlan&& other) noexcept {
  std::swap(static_cast<GemmCall&>(*this), static_cast<GemmCall&>(other));
  std::swap(source, other.source);
  std::swap(shape_, other.shape_);
  std::swap(computed_, other.computed_);
  std::swap(methods_, other.methods_);
  std::swap(method_, other.method_);
  std::swap(algorithm_, other.algorithm_);
  std::swap(book_, other.book_);
  if (book_ != nullptr) book_->exchange(this, &other);
  if (other.book_ != nullptr && other.book_ != book_) other.book_->exchange(this, &other);
  return *this;
}

size_t MatmulPlan::scratch_bytes() const {
  return packed_operands(computed_).bytes +
         (book_ != nullptr && book_->tunes() ? kWorkspaceBytes : workspace_bytes);
}

void MatmulPlan::set_bias(const void* bias, const char* where) {
  op.bias = bias;
  if (op.cublaslt != nullptr) set_cublaslt_bias(op.cublaslt, bias, where);
}

void MatmulPlan::run(const void* a, const void* b, const void* added, void* c, void* workspace,
                     cudaStream_t stream, const char* where) const {
  const GemmOperands operands{a, b, op.bias, added, c, op.scales_a, op.scales_b};
  const MatmulShape& s = computed_;
  if (s.copies()) {
    const GemmOperands copies = copy_operands(s, operands, workspace, stream, where);
    method_->run(copies, static_cast<char*>(workspace) + packed_operands(s).bytes, stream, where);
    if (s.pack_c || adds_rows(s)) copy_result(s, copies.c, c, stream, where);
  } else {
    method_->run(operands, workspace, stream, where);
  }
  if (s.row_scales != shape_.row_scales) {
    launch_scale_rows(c, s.result(), s.m, s.n, static_cast<const float*>(op.scales_a),
                      static_cast<const float*>(op.scales_b), stream, where);
  }
}

void run_other_library(const GemmOp& op, const void* a, const void* b, const void* added, void* c,
                       void* workspace, cudaStream_t stream) {
  op.other->run({a, b, op.bias, added, c, op.scales_a, op.scales_b}, workspace, stream,
                host_position.load());
}

std::vector<MatmulCandidate> MatmulPlan::candidates(int limit, const char* where) const {
  std::vector<MatmulCandidate> all = method_->candidates(limit, where);
  for (const auto& method : methods_) {
    if (method.get() == method_) continue;
    for (MatmulCandidate& one : method->candidates(limit, where)) all.push_back(std::move(one));
  }
  return all;
}

std::optional<MatmulCandidate> MatmulPlan::check(const GemmAlgorithm& algorithm) const {
  const GemmMethod* method = method_of(algorithm.library);
  if (method == nullptr) return {};
  return method->check(algorithm.bytes);
}

GemmMethod* MatmulPlan::method_of(const std::string& library) const {
  const auto found = std::find_if(methods_.begin(), methods_.end(), [&](const auto& method) {
    return method->library().name == library;
  });
  return found == methods_.end() ? nullptr : found->get();
}

void MatmulPlan::take(const MatmulCandidate& candidate, PlanSource by) {
  method_ = method_of(candidate.algorithm.library);
  method_->use(candidate);
  const GemmOp was = op;
  GemmCall::operator=(method_->call());
  op.bias = was.bias;
  set_scales(was.scales_a, was.scales_b);
  workspace_bytes = candidate.workspace_bytes;
  algorithm_ = candidate.algorithm;
  source = by;
}

void MatmulPlan::use(const MatmulCandidate& candidate, PlanSource by) {
  take(candidate, by);
  ++plan_changes;
}

}  // namespace hirgen
