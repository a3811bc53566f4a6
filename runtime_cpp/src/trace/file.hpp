// The file of --trace: trace events in JSON, as Perfetto and Chrome read them. A process is a rank,
// a thread is a stream, a slice is a call.
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
  std::string machine;  ///< host and GPU, for people
  std::vector<RecordedCall> calls;
  std::vector<int64_t> begins, ends;  ///< of the calls, nanoseconds of rank 0's steady clock
  std::vector<std::string> tracks;
};

/// What the recorder has, in times of the device's clock plus `offset` nanoseconds.
RankTrace read_trace(const TraceRecorder& recorder, const DeviceClock& clock, double offset);

/// The trace's events, each a line that ends in a comma. Times are given from `zero` on.
std::string events_json(const RankTrace& trace, int64_t zero);

/// The whole file, of the events of all ranks; `about` are members of an object of its own.
std::string trace_json(const std::vector<std::string>& events, const std::string& about);

}  // namespace hirgen
