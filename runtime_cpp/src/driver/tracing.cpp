// The part of the driver for --trace: times repeats with and without tracing, then traces one more
// repeat and writes its timeline.
#include <algorithm>
#include <cmath>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "driver/driver.hpp"
#include "hirgen/error.hpp"
#include "trace/clock.hpp"
#include "trace/file.hpp"
#include "trace/recorder.hpp"

namespace hirgen {

namespace {

constexpr const char* kTrace = "trace";

/// The earliest begin of a call on any rank, or 0 if a rank has no calls. Collective.
int64_t zero_of(const RankTrace& trace, Rendezvous& rendezvous) {
  const auto first = std::min_element(trace.begins.begin(), trace.begins.end());
  const auto mine = first == trace.begins.end() ? 0.0 : static_cast<double>(*first);
  return -std::llround(rendezvous.max(-mine, kTrace));
}

}  // namespace

void check_trace(const ProgramInfo& info, const Options& options) {
  if (options.trace.empty() || !info.graph) return;
  throw Error(Code::kUsage, "--trace " + options.trace +
                                ": this program launches its calls as one CUDA graph, inside of "
                                "which no call can be timed; emit it with schedule `graph: false`");
}

// Alternates between repeats with and without tracing, so that both have the same clocks and heat.
void Driver::trace_calls() {
  context_.name_stream(stream_, "caller");
  TraceRecorder recorder(context_);
  time_repeat(&recorder);  // creates the recorder's events, which later repeats reuse
  TraceCost cost;
  for (int64_t i = 0; i < options_.repeats; ++i) {
    cost.without.push_back(time_repeat());
    cost.with.push_back(time_repeat(&recorder));
  }
  const ClockBounds host = offset_to_rank_zero(context_);
  DeviceClock device(context_, stream_);
  time_repeat(&recorder);
  recorder.synchronize();
  device.align();
  RankTrace mine = read_trace(recorder, device, host.middle());
  const RankInfo& self = report_.ranks[static_cast<size_t>(context_.rank())];
  mine.rank = self.rank;
  mine.machine =
      format("%s, device %d, %s", self.host.c_str(), self.device, self.device_name.c_str());
  cost.error = context_.rendezvous().max(device.error() + host.error(), kTrace);
  write_trace(mine, cost);
}

void Driver::write_trace(const RankTrace& mine, const TraceCost& cost) {
  Rendezvous& rendezvous = context_.rendezvous();
  const int64_t zero = zero_of(mine, rendezvous);
  const std::vector<std::string> events = rendezvous.gather(events_json(mine, zero), kTrace);
  const int64_t slices = rendezvous.sum(static_cast<int64_t>(mine.calls.size()), kTrace);
  if (context_.rank() != 0) return;
  const double without = median(cost.without) * 1e6;
  const double with = median(cost.with) * 1e6;
  JsonWriter about;
  about.begin_object().value("program", table_.info.name).value("digest", table_.info.digest);
  about.value("transport", report_.transport).value("calls", options_.iters);
  about.value("alignment_error_us", cost.error / 1e3);
  about.value("us_per_call_untraced", without).value("us_per_call_traced", with).end_object();
  const std::string text = trace_json(events, about.text());
  write_file(options_.trace, {{text.data(), text.size()}}, options_.timeout);
  say(format("# Trace: %ld slices of %ld calls on %d ranks in %s; open it at ui.perfetto.dev\n",
             static_cast<long>(slices), static_cast<long>(options_.iters), context_.world(),
             options_.trace.c_str()));
  say(format(
      "# Trace: device clocks aligned within %.2f us; a call takes %.2f us traced and %.2f us "
      "untraced (%+.1f %%)\n",
      cost.error / 1e3, with, without, (with / without - 1) * 100));
}

}  // namespace hirgen
