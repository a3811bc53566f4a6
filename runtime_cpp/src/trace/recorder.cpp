#include "trace/recorder.hpp"

#include <algorithm>
#include <chrono>

#include "hirgen/error.hpp"

namespace hirgen {

constinit thread_local TraceRecorder* trace_recorder = nullptr;

int64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void TracedCall::begin(const char* name, const char* where, cudaStream_t stream,
                       cudaEvent_t event) {
  const char* label = where != nullptr ? where : host_position.load(std::memory_order_relaxed);
  recorder_->begin(kind_, name, label, stream, event);
}

void TracedCall::end() { recorder_->end(kind_); }

TraceRecorder::~TraceRecorder() {
  for (cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
}

void TraceRecorder::clear() {
  used_ = 0;
  tracks_.clear();
  calls_.clear();
  records_.clear();
}

void TraceRecorder::synchronize() {
  for (const Track& track : tracks_) context_.synchronize(track.stream);
}

void TraceRecorder::begin(TraceKind kind, const char* name, const char* where, cudaStream_t stream,
                          cudaEvent_t event) {
  if (kind == TraceKind::kGroupStart) ++group_;
  if (kind == TraceKind::kGroupStart || kind == TraceKind::kGroupEnd) return;
  const size_t track = track_of(stream);
  std::optional<size_t>& grouped = tracks_[track].grouped;
  if (grouped) {
    calls_[*grouped].and_also.push_back(where);
    return;
  }
  RecordedCall call{.kind = kind,
                    .name = name,
                    .where = where,
                    .and_also = {},
                    .track = track,
                    .call = context_.call(),
                    .issued = steady_nanoseconds(),
                    .begin = tracks_[track].last,
                    .end = 0,
                    .record = std::nullopt};
  const auto recorded = records_.find(event);
  if (kind == TraceKind::kEventWait && recorded != records_.end()) call.record = recorded->second;
  if (kind == TraceKind::kEventRecord) records_[event] = calls_.size();
  if (group_ > 0) grouped = calls_.size();
  calls_.push_back(std::move(call));
}

void TraceRecorder::end(TraceKind kind) {
  if (kind == TraceKind::kGroupEnd && --group_ == 0) {
    for (Track& track : tracks_) {
      if (track.grouped) finish(*track.grouped);
      track.grouped.reset();
    }
  } else if (group_ == 0) {
    finish(calls_.size() - 1);
  }
}

void TraceRecorder::finish(size_t call) {
  Track& track = tracks_[calls_[call].track];
  if (calls_[call].kind != TraceKind::kEventRecord) track.last = mark(track.stream);
  calls_[call].end = track.last;
}

size_t TraceRecorder::track_of(cudaStream_t stream) {
  const auto known = std::find_if(tracks_.begin(), tracks_.end(),
                                  [stream](const Track& track) { return track.stream == stream; });
  const auto index = static_cast<size_t>(known - tracks_.begin());
  if (index == tracks_.size()) tracks_.push_back({stream, mark(stream), std::nullopt});
  return index;
}

// Records a timing event and returns its index. Does not use HG_CHECK, which would count the calls
// as statements of the program; event() throws if one failed.
size_t TraceRecorder::mark(cudaStream_t stream) {
  if (used_ == events_.size()) {
    cudaEvent_t event = nullptr;
    failure_ = std::max(failure_, cudaEventCreate(&event));
    events_.push_back(event);
  }
  failure_ = std::max(failure_, cudaEventRecord(events_[used_], stream));
  return used_++;
}

std::vector<std::string> TraceRecorder::tracks() const {
  std::vector<std::string> names;
  for (const Track& track : tracks_) names.push_back(context_.stream_name(track.stream));
  return names;
}

cudaEvent_t TraceRecorder::event(size_t index) const {
  HG_CHECK(failure_, "trace");
  return events_[index];
}

}  // namespace hirgen
