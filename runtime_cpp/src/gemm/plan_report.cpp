#include "gemm/plan_report.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hirgen {

namespace {

const char* source_name(PlanSource source) {
  switch (source) {
    case PlanSource::kFile:
      return "file";
    case PlanSource::kTuned:
      return "tuned";
    case PlanSource::kHeuristic:
      break;
  }
  return "heuristic";
}

std::string measured_columns(const std::optional<PlanMeasurement>& measured) {
  if (!measured) return format("%10s %12s %12s", "-", "-", "-");
  return format("%10ld %12.2f %12.2f", static_cast<long>(measured->candidates),
                measured->default_seconds * 1e6, measured->seconds * 1e6);
}

}  // namespace

std::vector<PlanReport> report_plans(const PlanBook& book, const std::vector<PlanChoice>& tuned) {
  std::vector<PlanReport> reports;
  for (const PlanBook::Gemm& gemm : book.gemms()) {
    const MatmulPlan& plan = *gemm.plans.front();
    PlanReport& report = reports.emplace_back();
    report.gemm = gemm.text;
    report.source = plan.source;
    report.algorithm = plan.algorithm();
    report.workspace_bytes = static_cast<int64_t>(plan.workspace_bytes);
    for (const PlanChoice& choice : tuned) {
      if (choice.gemm == gemm.text) report.measured = choice.measured;
    }
  }
  return reports;
}

std::string plans_table(const std::vector<PlanReport>& plans) {
  if (plans.empty()) return "# No GEMMs.\n";
  size_t width = 0;
  for (const PlanReport& plan : plans) width = std::max(width, plan.gemm.size());
  const int column = static_cast<int>(width);
  std::string text = format("# %-*s %-9s %10s %12s %12s  %s\n", column, "GEMM", "chosen by",
                            "candidates", "default (us)", "call (us)", "algorithm");
  for (const PlanReport& plan : plans) {
    text += format("# %-*s %-9s %s  %s %s\n", column, plan.gemm.c_str(), source_name(plan.source),
                   measured_columns(plan.measured).c_str(), plan.algorithm.library.c_str(),
                   attributes_text(attributes_of(plan.algorithm)).c_str());
  }
  return text + "#\n";
}

void write_plans(JsonWriter& json, const std::vector<PlanReport>& plans) {
  json.begin_array("plans");
  for (const PlanReport& plan : plans) {
    json.begin_object().value("gemm", plan.gemm).value("source", source_name(plan.source));
    json.value("library", plan.algorithm.library);
    json.value("algorithm", hex_of(plan.algorithm.bytes));
    json.value("workspace_bytes", plan.workspace_bytes);
    write_attributes(json, attributes_of(plan.algorithm));
    if (plan.measured) {
      json.value("candidates", plan.measured->candidates);
      json.value("default_us", plan.measured->default_seconds * 1e6);
      json.value("us", plan.measured->seconds * 1e6);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace hirgen
