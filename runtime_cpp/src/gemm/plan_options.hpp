// The work of --plans and --tune before and after a program is made.
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
  /// Reads --plans, so that the program uses its choices. With --tune, rank 0 only keeps them, to
  /// write them again. Throws Error(kEnvironment) if the file is malformed. With --tune, the file
  /// need not exist.
  ProgramPlans(Context& context, const Options& options, const std::string& program);

  /// Collective; call it after the program and its inputs are made. With --tune, searches and
  /// writes the file; `call` issues one call on `stream`. With --plans alone, rank 0 reports the
  /// ignored choices on standard error, with place and reason.
  void choose(cudaStream_t stream, const std::function<void()>& call);

  /// The GEMMs on this rank.
  std::vector<PlanReport> report() const { return report_plans(context_.plans(), tuned_); }

 private:
  void say_what_is_ignored();
  void write();

  Context& context_;
  const bool tune_;
  const std::string program_;
  const std::string path_;         // "" without either option
  std::vector<PlanChoice> known_;  // the file's content before --tune; rank 0 only
  std::vector<PlanChoice> tuned_;
};

}  // namespace hirgen
