#include "gemm/plan_options.hpp"

#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/files.hpp"
#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "gemm/plan_book.hpp"
#include "gemm/tune.hpp"

namespace hirgen {

namespace {

std::string path_of(const Options& options, const std::string& program) {
  return options.plans.empty() && options.tune ? program + ".plans.json" : options.plans;
}

}  // namespace

ProgramPlans::ProgramPlans(Context& context, const Options& options, const std::string& program)
    : context_(context), tune_(options.tune), program_(program), path_(path_of(options, program)) {
  if (tune_) {
    context.plans().tune();
    const bool holds_some = context.rank() == 0 && access(path_.c_str(), F_OK) == 0;
    if (holds_some) known_ = read_plans(path_);
  } else if (!path_.empty()) {
    context.plans().load(path_, scopes_of(context.options().device));
  }
}

void ProgramPlans::choose(cudaStream_t stream, const std::function<void()>& call) {
  if (tune_) {
    tuned_ = Tuner(context_, stream, call).run(program_);
    if (context_.rank() == 0 && !tuned_.empty()) write();
  } else if (!path_.empty()) {
    say_what_is_ignored();
  }
}

void ProgramPlans::write() {
  merge_plans(&known_, tuned_);
  const std::string text = plans_text(known_);
  write_file(path_, {{text.data(), text.size()}});
}

void ProgramPlans::say_what_is_ignored() {
  std::string own;
  for (const std::string& line : context_.plans().notes()) own += line + "\n";
  const std::vector<std::string> ranks = context_.rendezvous().gather(own, "plans ignored");
  std::map<std::string, std::vector<int64_t>> by_line;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const std::string& line : split_text(ranks[rank], '\n')) {
      if (!line.empty()) by_line[line].push_back(static_cast<int64_t>(rank));
    }
  }
  for (const auto& [line, who] : by_line) {
    std::fprintf(stderr, "hirgen: %s (rank %s)\n", line.c_str(), list_ranges(who).c_str());
  }
}

}  // namespace hirgen
