// Times implementations round by round, and prints them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gemm.hpp"

namespace {

/// Microseconds of a call, the mean of `calls` calls.
double time_calls(int calls, const std::function<void()>& call) {
  HG_CHECK(cudaEventRecord(begin_event, streams[0]), "");
  for (int i = 0; i < calls; ++i) call();
  HG_CHECK(cudaEventRecord(end_event, streams[0]), "");
  HG_CHECK(cudaEventSynchronize(end_event), "");
  float ms = 0;
  HG_CHECK(cudaEventElapsedTime(&ms, begin_event, end_event), "");
  return 1e3 * ms / calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Sets the best of the heuristic's algorithms, by the median of three rounds over all of them.
void tune(Gemm& gemm) {
  std::vector<std::vector<double>> times(gemm.algorithms());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < gemm.algorithms(); ++i) {
      gemm.use(i);
      time_calls(1, [&] { gemm(); });
      times[i].push_back(time_calls(5, [&] { gemm(); }));
    }
  }
  size_t best = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    if (median(times[i]) < median(times[best])) best = i;
  }
  gemm.set_best(best);
  gemm.use(0);
}

/// An implementation: its GEMMs, and the call that runs it.
struct Way {
  std::string name;
  std::vector<Gemm*> gemms;
  std::function<void()> call;
};

/// Times the implementations round by round, with first and best algorithms, and prints a line for
/// each, with its speedup over the first implementation of its group.
void measure(const std::vector<std::vector<Way>>& groups) {
  struct Timed {
    const Way* way;
    bool best;
    int calls;
    std::vector<double> us;
  };
  std::vector<Timed> all;
  for (const auto& group : groups) {
    for (const Way& way : group) {
      for (const bool best : {false, true}) all.push_back({&way, best, 1, {}});
    }
  }
  const auto run = [](const Timed& t, int calls) {
    for (Gemm* gemm : t.way->gemms) gemm->use_best(t.best);
    return time_calls(calls, t.way->call);
  };
  for (Timed& t : all) t.calls = std::max(5, static_cast<int>(10e3 / run(t, 5)));
  for (int turn = 0; turn < 5; ++turn) {
    for (Timed& t : all) {
      run(t, t.calls);  // warms up to the power of this implementation
      t.us.push_back(run(t, t.calls));
    }
  }
  auto next = all.begin();
  for (const auto& group : groups) {
    double first = 0, best = 0;
    for (const Way& way : group) {
      const double now_first = median((next++)->us), now_best = median((next++)->us);
      if (&way == &group.front()) first = now_first, best = now_best;
      std::printf("  %-44s %9.1f %6.3f %9.1f %6.3f\n", way.name.c_str(), now_first,
                  first / now_first, now_best, best / now_best);
    }
  }
  std::fflush(stdout);
}

void heading(const std::string& what) {
  std::printf("%-46s %9s %6s %9s %6s\n", what.c_str(), "first us", "x", "best us", "x");
}

}  // namespace
