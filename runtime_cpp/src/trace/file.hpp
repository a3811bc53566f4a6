// The file of --trace: trace events in JSON, for Perfetto and Chrome. A process is a rank, a thread
// is a stream, a slice is a call.
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
  std::vector<int64_t> begins, ends;  ///< of the calls, nanoseconds of rank 0's steady clock
  std::vector<std::string> tracks;
};

/// The calls of the recorder, with times in the device's clock plus `offset` nanoseconds.
RankTrace read_trace(const TraceRecorder& recorder, const DeviceClock& clock, double offset);

/// The trace's events, one line each with a comma at the end. Times are relative to `zero`.
std::string events_json(const RankTrace& trace, int64_t zero);

/// The whole file, with the events of all ranks. `about` has the members of a separate object.
std::string trace_json(const std::vector<std::string>& events, const std::string& about);

}  // namespace hirgen
