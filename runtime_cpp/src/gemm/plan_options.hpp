// Implements --plans and --tune, before and after a program is made.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>
#include <vector>

#include "driver/options.hpp"
#include "gemm/plan_file.hpp"
#include "gemm/plan_report.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// The algorithms of one program's GEMMs. Make it before the program.
class ProgramPlans {
 public:
  /// Reads the file of --plans, so that the program uses its choices. With --tune, only rank 0
  /// reads the file, if there is one, to keep its other choices when it writes the file. Throws
  /// Error(kEnvironment) if the file cannot be read or is malformed.
  ProgramPlans(Context& context, const Options& options, const std::string& program);

  /// Collective; call it after the program and its inputs are made. With --tune, searches, and rank
  /// 0 writes the file if a GEMM was tuned; `call` issues one call on `stream`. With --plans alone,
  /// rank 0 reports each ignored choice on standard error, with file, reason and ranks.
  void choose(cudaStream_t stream, const std::function<void()>& call);

  /// The GEMMs on this rank, with their algorithms.
  std::vector<PlanReport> report() const { return report_plans(context_.plans(), tuned_); }

 private:
  void say_what_is_ignored();
  void write();

  Context& context_;
  const bool tune_;
  const std::string program_;
  const std::string path_;         // of the plan file; "" without either option
  std::vector<PlanChoice> known_;  // the file's choices; only on rank 0 with --tune
  std::vector<PlanChoice> tuned_;
};

}  // namespace hirgen
