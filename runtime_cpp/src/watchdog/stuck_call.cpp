#include "watchdog/stuck_call.hpp"

#include <vector>

#include "base/text.hpp"

namespace hirgen {

namespace {

constexpr double kAnswerSeconds = 0.5;

// Describes the statements whose events are incomplete. A call in a CUDA graph has no such events.
std::string late_statements(const OldestCall& answer, int64_t begun) {
  const auto call = static_cast<long>(answer.call);
  if (begun - answer.call >= Events::kCalls) {
    return format("  waits in call %ld; its events are in use again by later calls\n", call);
  }
  if (answer.events.empty()) return format("  waits in call %ld\n", call);
  const Incomplete first = first_incomplete(answer.events);
  std::string text = format("  waits in call %ld for %s[%ld] (%s)\n", call, first.name.c_str(),
                            static_cast<long>(first.first), first.where.c_str());
  for (const Incomplete& event : answer.events) {
    text += format("    not complete: %s[%s] of %ld\n", event.name.c_str(),
                   list_ranges(event.indices).c_str(), static_cast<long>(event.count));
  }
  return text;
}

std::string late_peers(const std::vector<MissingFlags>& missing, int64_t call) {
  std::string text;
  for (const MissingFlags& flags : missing) {
    const std::string rows = flags.rows.empty() ? "" : "[" + list_ranges(flags.rows) + "]";
    text += format("  call %ld waits for the %s flag of %s%s from rank%s %s (%s)\n",
                   static_cast<long>(call), flags.done ? "done" : "ready", flags.name.c_str(),
                   rows.c_str(), flags.ranks.size() == 1 ? "" : "s",
                   list_ranges(flags.ranks).c_str(), flags.where.c_str());
  }
  return text;
}

}  // namespace

std::string describe_stuck_call(DeviceMonitor& monitor, int64_t begun) {
  const auto answer = monitor.ask_oldest_call(kAnswerSeconds);
  if (!answer) return "  the device does not answer\n";
  if (answer->call > begun) return "";
  std::string text = late_statements(*answer, begun);
  const auto missing = monitor.ask_missing_flags(answer->call, kAnswerSeconds);
  return text + (missing ? late_peers(*missing, answer->call)
                         : "  the device does not say which flags its peers have set\n");
}

}  // namespace hirgen
