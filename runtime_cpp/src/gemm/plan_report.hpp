// Reports the algorithm of each GEMM: as a table, and in the JSON report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "gemm/plan_book.hpp"
#include "gemm/plan_file.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// One GEMM and its algorithm on this rank.
struct PlanReport {
  std::string gemm;  ///< its shape as text, from describe()
  PlanSource source = PlanSource::kHeuristic;
  GemmAlgorithm algorithm;
  int64_t workspace_bytes = 0;
  std::optional<PlanMeasurement> measured;  ///< set if this run tuned the GEMM
};

/// Every GEMM of the book; `tuned` has the choices of this run.
std::vector<PlanReport> report_plans(const PlanBook& book, const std::vector<PlanChoice>& tuned);

/// Lines that begin with "#": titles, one line for each GEMM, and an empty comment. "# No GEMMs.\n"
/// if there are none.
std::string plans_table(const std::vector<PlanReport>& plans);

/// Adds an array "plans" with an object for each GEMM.
void write_plans(JsonWriter& json, const std::vector<PlanReport>& plans);

}  // namespace hirgen
