#include "trace/file.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace hirgen {

namespace {

const char* spelling(TraceKind kind) {
  switch (kind) {
    case TraceKind::kGemm:
      return "gemm";
    case TraceKind::kNccl:
      return "nccl";
    case TraceKind::kCopy:
      return "copy";
    case TraceKind::kKernel:
      return "kernel";
    case TraceKind::kFlagWrite:
      return "flag write";
    case TraceKind::kFlagWait:
      return "flag wait";
    case TraceKind::kEventRecord:
      return "event record";
    case TraceKind::kEventWait:
      return "event wait";
    case TraceKind::kGroupStart:
    case TraceKind::kGroupEnd:
      break;
  }
  return "";
}

std::string text_of(const char* label) { return std::string(split_label(label).text); }

/// The title of a slice: the text of the statement, and the number of the other statements in its
/// NCCL group, if any. For flags and events, the kind precedes the text.
std::string title(const RecordedCall& call) {
  std::string text = text_of(call.where);
  if (!call.and_also.empty()) text += format(" and %zu more", call.and_also.size());
  const bool work = call.kind == TraceKind::kGemm || call.kind == TraceKind::kNccl ||
                    call.kind == TraceKind::kCopy || call.kind == TraceKind::kKernel;
  return work ? text : std::string(spelling(call.kind)) + ": " + text;
}

/// Exact microseconds, so that rounding does not make adjacent slices overlap.
std::string microseconds(int64_t nanoseconds) {
  return format("%ld.%03ld", static_cast<long>(nanoseconds / 1000),
                static_cast<long>(nanoseconds % 1000));
}

class RankEvents {
 public:
  RankEvents(const RankTrace& trace, int64_t zero) : trace_(trace), zero_(zero) {}

  std::string text() {
    name("process_name", 0, format("rank %d", trace_.rank));
    line("M", "process_labels", 0, R"(,"args":{"labels":)" + json_quote(trace_.machine) + "}");
    line("M", "process_sort_index", 0, format(R"(,"args":{"sort_index":%d})", trace_.rank));
    for (size_t i = 0; i < trace_.tracks.size(); ++i) name("thread_name", i, trace_.tracks[i]);
    for (size_t i = 0; i < trace_.calls.size(); ++i) slice(i);
    return std::move(text_);
  }

 private:
  void line(const char* phase, const std::string& name, size_t track, const std::string& rest) {
    text_ += format(R"({"ph":"%s","name":%s,"pid":%d,"tid":%zu)", phase, json_quote(name).c_str(),
                    trace_.rank, track + 1);
    text_ += rest + "},\n";
  }
  void name(const char* what, size_t track, const std::string& text) {
    line("M", what, track, R"(,"args":{"name":)" + json_quote(text) + "}");
  }

  void slice(size_t i) {
    const RecordedCall& call = trace_.calls[i];
    const std::string kind = spelling(call.kind);
    const int64_t begin = trace_.begins[i];
    std::string rest = R"(,"cat":")" + kind + R"(","ts":)" + microseconds(begin - zero_) +
                       R"(,"dur":)" + microseconds(trace_.ends[i] - begin);
    rest += R"(,"args":{"where":)" + json_quote(std::string(split_label(call.where).position));
    rest += R"(,"statement":)" + json_quote(text_of(call.where));
    rest += format(R"(,"function":"%s","call":%ld,"index":%d,"id":%zu)", call.name,
                   static_cast<long>(call.call - trace_.calls.front().call + 1),
                   counts_[{call.call, call.where, call.name}]++, i);
    if (call.record) rest += format(R"(,"record":%zu)", *call.record);
    if (!call.and_also.empty()) rest += R"(,"and_also":)" + labels(call.and_also);
    line("X", title(call), call.track, rest + "}");
    if (call.record) arrow(i);
    if (call.kind != TraceKind::kEventRecord) before_[call.track] = i;
    if (call.kind == TraceKind::kEventRecord && before_.contains(call.track)) {
      ended_by_[i] = before_[call.track];
    }
  }

  static std::string labels(const std::vector<const char*>& all) {
    std::string text;
    for (const char* label : all) text += (text.empty() ? "" : ",") + json_quote(label);
    return "[" + text + "]";
  }

  // Draws an arrow to an event wait from the last call before the event's record, on the record's
  // stream, because the record itself has no width. Draws none if there is no such call.
  void arrow(size_t wait) {
    const auto source = ended_by_.find(*trace_.calls[wait].record);
    if (source == ended_by_.end()) return;
    const auto end = [&](const char* phase, size_t call) {
      line(phase, "event", trace_.calls[call].track,
           format(R"(,"cat":"event","bp":"e","id":"%d.%zu","ts":)", trace_.rank, wait) +
               microseconds(trace_.begins[call] - zero_));
    };
    end("s", source->second);
    end("f", wait);
  }

  const RankTrace& trace_;
  const int64_t zero_;
  std::string text_;
  // How often a call of the program has used a function in a statement, by (call, where, name).
  std::map<std::tuple<int64_t, const char*, const char*>, int> counts_;
  std::map<size_t, size_t> before_;    // the last call of each track, without event records
  std::map<size_t, size_t> ended_by_;  // the call before each event record on its track
};

}  // namespace

RankTrace read_trace(const TraceRecorder& recorder, const DeviceClock& clock, double offset) {
  RankTrace trace;
  trace.calls = recorder.calls();
  trace.tracks = recorder.tracks();
  const int64_t shift = std::llround(offset);
  std::map<size_t, int64_t> times;
  const auto time_of = [&](size_t event) {
    const auto [known, is_new] = times.try_emplace(event);
    if (is_new) known->second = clock.time_of(recorder.event(event)) + shift;
    return known->second;
  };
  // The time at which each track is free for its next call. Host and device times differ by the
  // error of the clocks; calls of one stream must still not overlap.
  std::map<size_t, int64_t> free;
  for (const RecordedCall& call : trace.calls) {
    int64_t& from = free.try_emplace(call.track, time_of(call.begin)).first->second;
    const int64_t issued = call.issued + shift;
    const int64_t done = call.kind == TraceKind::kEventRecord ? issued : time_of(call.end);
    trace.ends.push_back(std::max(from, done));
    trace.begins.push_back(std::clamp(issued, from, trace.ends.back()));
    from = trace.ends.back();
  }
  return trace;
}

std::string events_json(const RankTrace& trace, int64_t zero) {
  return RankEvents(trace, zero).text();
}

std::string trace_json(const std::vector<std::string>& events, const std::string& about) {
  std::string text =
      "{\"displayTimeUnit\":\"ns\",\n\"otherData\":" + about + ",\n\"traceEvents\":[\n";
  for (const std::string& part : events) text += part;
  // Each event ends in a comma; remove the last comma.
  text.erase(text.rfind(','), 1);
  return text + "]}\n";
}

}  // namespace hirgen
