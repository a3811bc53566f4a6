// The part of the driver that times calls: for --tune, and for the report.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "driver/driver.hpp"
#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"
#include "trace/recorder.hpp"

namespace hirgen {

namespace {

constexpr const char* kTiming = "timing";

}  // namespace

Options with_launches(const ProgramInfo& info, Options options) {
  if (!info.graph) options.calls_per_graph = 1;
  if (options.iters % options.calls_per_graph != 0) {
    throw Error(Code::kUsage, format("--iters %ld: expected a multiple of --calls-per-graph %ld",
                                     static_cast<long>(options.iters),
                                     static_cast<long>(options.calls_per_graph)));
  }
  return options;
}

// Power draw, and so the clock, depends on the data: with integers, times would be too short.
void Driver::fill_normal_inputs() {
  for (size_t i = 0; i < descs_.size(); ++i) {
    if (!is_drawn(i)) continue;
    fill_normal(tensors_[i], descs_[i], static_cast<int>(i), options_.seed, stream_);
  }
}

void Driver::choose_algorithms() {
  if (options_.tune) fill_normal_inputs();
  plans_.choose(stream_, [this] { call(); });
  report_.plans = plans_.report();
  if (options_.tune || !options_.plans.empty()) say(plans_table(report_.plans));
}

std::vector<double> Driver::time_calls() {
  fill_normal_inputs();
  return options_.paced ? time_paced_rounds() : time_round();
}

std::vector<double> Driver::time_paced_rounds() {
  say("# ready: a line on standard input times a round\n");
  std::vector<double> all;
  while (another_round()) {
    const std::vector<double> round = time_round();
    all.insert(all.end(), round.begin(), round.end());
    std::string text = "# round, us:";
    for (const double seconds : round) text += format(" %.3f", seconds * 1e6);
    say(text + "\n");
  }
  if (all.empty()) throw Error(Code::kUsage, "--paced: standard input asked for no round");
  return all;
}

bool Driver::another_round() {
  int64_t asked = 0;
  if (context_.rank() == 0) {
    int character = std::getchar();
    while (character != '\n' && character != EOF) character = std::getchar();
    asked = character == EOF ? 0 : 1;
  }
  return context_.rendezvous().sum(asked, "next round") != 0;
}

std::vector<double> Driver::time_round() {
  for (int64_t i = 0; i < options_.warmup; i += options_.calls_per_graph) call();
  context_.synchronize(stream_);
  std::vector<double> seconds;
  seconds.reserve(static_cast<size_t>(options_.repeats));
  for (int64_t i = 0; i < options_.repeats; ++i) seconds.push_back(time_repeat());
  return seconds;
}

void Driver::issue_calls(TraceRecorder* recorder) {
  if (recorder != nullptr) recorder->clear();
  const Recording recording(recorder);
  for (int64_t i = 0; i < options_.iters; i += options_.calls_per_graph) call();
}

double Driver::time_repeat(TraceRecorder* recorder) {
  context_.rendezvous().barrier("begin of a timed repeat");
  HG_CHECK(cudaEventRecord(begin_, stream_), kTiming);
  issue_calls(recorder);
  HG_CHECK(cudaEventRecord(end_, stream_), kTiming);
  context_.synchronize(stream_);
  float milliseconds = 0;
  HG_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_), kTiming);
  const double mine = static_cast<double>(milliseconds) / 1e3 / static_cast<double>(options_.iters);
  own_seconds_.push_back(mine);
  return context_.rendezvous().max(mine, "slowest rank");
}

void Driver::gather_times() {
  Writer writer;
  for (const double seconds : own_seconds_) writer.put(seconds);
  for (std::string& part : context_.rendezvous().allgather(writer.bytes(), "times")) {
    Reader reader(std::move(part));
    std::vector<double>& rank = report_.rank_seconds.emplace_back();
    for (size_t i = 0; i < own_seconds_.size(); ++i) rank.push_back(reader.get<double>());
  }
}

}  // namespace hirgen
