#include "gemm/plan_book.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hirgen {

void PlanBook::load(const std::string& file, const std::vector<AlgorithmScope>& own) {
  choices_ = read_plans(file);
  file_ = file;
  own_ = own;
}

std::optional<MatmulCandidate> PlanBook::choice(const MatmulPlan& plan) {
  if (choices_.empty()) return {};
  const std::string gemm = describe(plan.shape());
  const PlanChoice* foreign = nullptr;
  for (const PlanChoice& choice : choices_) {
    if (choice.gemm != gemm) continue;
    if (std::find(own_.begin(), own_.end(), choice.scope) == own_.end()) {
      foreign = &choice;
      continue;
    }
    const std::string& library = choice.scope.library;
    auto candidate = plan.check({library, choice.bytes});
    if (candidate) return candidate;
    const GemmLibrary* requested = requested_gemm_library();
    const bool other = requested != nullptr && library != requested->name;
    note(gemm + ": " +
         (other ? "it is of " + library + ", and HIRGEN_GEMM=" + requested->name
                : library + " refuses it"));
    return {};
  }
  if (foreign != nullptr) {
    note(format("%s: it is for %s, and this is %s", gemm.c_str(),
                scope_text(foreign->scope).c_str(), scope_text(own_).c_str()));
  }
  return {};
}

void PlanBook::note(const std::string& line) {
  const std::string whole = file_ + ": ignoring the choice for " + line;
  if (std::find(notes_.begin(), notes_.end(), whole) == notes_.end()) notes_.push_back(whole);
}

void PlanBook::remove(const MatmulPlan* plan) { std::erase(plans_, plan); }

void PlanBook::exchange(MatmulPlan* one, MatmulPlan* other) {
  for (MatmulPlan*& plan : plans_) {
    if (plan == one) {
      plan = other;
    } else if (plan == other) {
      plan = one;
    }
  }
}

std::vector<PlanBook::Gemm> PlanBook::gemms() const {
  std::vector<Gemm> gemms;
  for (MatmulPlan* plan : plans_) {
    const std::string text = describe(plan->shape());
    const auto known = std::find_if(gemms.begin(), gemms.end(),
                                    [&](const Gemm& gemm) { return gemm.text == text; });
    if (known == gemms.end()) {
      gemms.push_back({text, {plan}});
    } else {
      known->plans.push_back(plan);
    }
  }
  return gemms;
}

void PlanBook::Gemm::use(const MatmulCandidate& candidate, PlanSource by) const {
  for (MatmulPlan* plan : plans) plan->use(candidate, by);
}

}  // namespace hirgen
