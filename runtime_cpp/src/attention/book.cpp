#include "attention/book.hpp"

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "attention/cudnn.hpp"
#include "attention/shape.hpp"
#include "attention/tiled.hpp"
#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {
namespace {

constexpr const char* kVariable = "HIRGEN_ATTENTION";
constexpr const char* kCudnn = "cudnn";
constexpr const char* kTiled = "tiled";

/// The implementation that HIRGEN_ATTENTION requests; "" if it is unset or empty. Throws
/// Error(kUsage) for an unknown name.
std::string asked_for() {
  const char* variable = std::getenv(kVariable);
  const std::string asked = variable == nullptr ? "" : variable;
  if (asked.empty() || asked == kCudnn || asked == kTiled) return asked;
  throw Error(Code::kUsage,
              format("%s=%s: it is %s or %s", kVariable, asked.c_str(), kCudnn, kTiled));
}

bool aligned(const AttentionShape& shape, const AttentionLayout& layout) {
  const auto rows = [&](const AttentionStride& s) { return aligned_rows(shape, s); };
  return rows(layout.q) && rows(layout.k) && rows(layout.v) && rows(layout.o) &&
         layout.align_lse % 16 == 0;
}
bool aligned(const AttentionProblem& p) { return aligned(p.shape, p.layout); }
bool aligned(const AttentionGradProblem& p) {
  return aligned(p.shape, p.layout) && aligned(p.shape, p.gradients);
}

/// cuDNN's method; or nullopt, with the reason, if cuDNN cannot compute the problem or the shape
/// must be deterministic. cuDNN's kernels read 16 bytes per access, so they need aligned rows.
template <typename Problem>
std::optional<AttentionMethod<Problem>> by_cudnn(const Problem& problem, std::string* reason) {
  if (problem.shape.deterministic) {
    *reason = "its gradient has other bits on every run";
    return {};
  }
  if (aligned(problem)) return plan_by_cudnn(problem, reason);
  *reason = "not all rows start at multiples of 16 bytes";
  return {};
}

template <typename Problem>
AttentionMethod<Problem> choose(const Problem& problem, std::string* reason, const char* where) {
  const std::string asked = asked_for();
  if (asked == kTiled) return plan_by_tiles(problem, where);
  if (auto method = by_cudnn(problem, reason)) return *method;
  if (asked == kCudnn) {
    throw Error(Code::kEnvironment,
                format("%s: %s=%s, but cuDNN does not compute %s: %s", where, kVariable, kCudnn,
                       describe(problem.shape).c_str(), reason->c_str()));
  }
  return plan_by_tiles(problem, where);
}

}  // namespace

template <>
std::vector<AttentionBook::Entry<AttentionProblem>>& AttentionBook::entries() {
  return attentions_;
}

template <>
std::vector<AttentionBook::Entry<AttentionGradProblem>>& AttentionBook::entries() {
  return gradients_;
}

template <typename Problem>
std::shared_ptr<const AttentionMethod<Problem>> AttentionBook::method(const Problem& problem,
                                                                      const char* where) {
  auto& known = entries<Problem>();
  for (const Entry<Problem>& entry : known) {
    if (entry.problem == problem) return entry.method;
  }
  std::string reason;
  auto method = std::make_shared<AttentionMethod<Problem>>(choose(problem, &reason, where));
  report_.push_back({describe(problem.shape), std::is_same_v<Problem, AttentionGradProblem>,
                     method->name, reason, static_cast<int64_t>(method->workspace_bytes)});
  known.push_back({problem, method});
  return method;
}

template std::shared_ptr<const AttentionMethod<AttentionProblem>> AttentionBook::method(
    const AttentionProblem&, const char*);
template std::shared_ptr<const AttentionMethod<AttentionGradProblem>> AttentionBook::method(
    const AttentionGradProblem&, const char*);

std::string attention_methods(const std::vector<AttentionReport>& attentions) {
  struct Method {
    int count = 0;
    std::set<std::string> reasons;
  };
  std::map<std::string, Method> methods;
  for (const AttentionReport& attention : attentions) {
    Method& method = methods[attention.method];
    ++method.count;
    if (!attention.reason.empty()) method.reasons.insert(attention.reason);
  }
  std::string line;
  for (const auto& [name, method] : methods) {
    line += (line.empty() ? "" : ", ") + format("%s (%d", name.c_str(), method.count);
    for (const std::string& reason : method.reasons) line += "; not cuDNN: " + reason;
    line += ')';
  }
  return line;
}

}  // namespace hirgen
