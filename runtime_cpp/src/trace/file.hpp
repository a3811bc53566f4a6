// The file of --trace: trace events in JSON, for Perfetto and Chrome. A process is a rank, a thread
// is a stream, a slice is a call, or the NCCL calls of a group on one stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/clock.hpp"
#include "trace/recorder.hpp"

namespace hirgen {

/// One rank's part of a trace.
struct RankTrace {
  int rank = 0;
  std::string machine;  ///< host and GPU, for readers
  std::vector<RecordedCall> calls;
  std::vector<int64_t> begins, ends;  ///< times of the calls, nanoseconds of rank 0's steady clock
  std::vector<std::string> tracks;    ///< names of streams, by RecordedCall::track
};

/// The calls of the recorder, with times of this node's steady clock plus `offset` nanoseconds.
/// `rank` and `machine` are not set.
RankTrace read_trace(const TraceRecorder& recorder, const DeviceClock& clock, double offset);

/// The trace's events in JSON, one line each with a comma at the end. Times are microseconds since
/// `zero`, which is in nanoseconds.
std::string events_json(const RankTrace& trace, int64_t zero);

/// The whole file: the texts of events_json() of all ranks, and the JSON object `about`.
std::string trace_json(const std::vector<std::string>& events, const std::string& about);

}  // namespace hirgen
