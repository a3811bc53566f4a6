// What --plans and --tune do around a program.
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
  /// Reads --plans, so that the program takes its choices; with --tune they are only kept, by
  /// rank 0, to be written again. Throws Error(kEnvironment) if the file is not as it should
  /// be; --tune alone may be the first to write it.
  ProgramPlans(Context& context, const Options& options, const std::string& program);

  /// Collective, when the program is there and its inputs are. With --tune, searches and
  /// writes the file; `call` issues one call on `stream`. With --plans alone, rank 0 says on
  /// standard error which choices are ignored, where and why.
  void choose(cudaStream_t stream, const std::function<void()>& call);

  /// The GEMMs as they are on this rank.
  std::vector<PlanReport> report() const { return report_plans(context_.plans(), tuned_); }

 private:
  void say_what_is_ignored();
  void write();

  Context& context_;
  const bool tune_;
  const std::string program_;
  const std::string path_;         // "" without either option
  std::vector<PlanChoice> known_;  // what the file held before --tune; rank 0 alone
  std::vector<PlanChoice> tuned_;
};

}  // namespace hirgen
