// Records the calls of a program for --trace: each call that it puts on a stream, and a timing
// event after the call.
//
// The calls of a stream run one after another, so one event after each call is enough. A call
// begins when the call before it on the stream ends, or when the host issues it, whichever is
// later. An event record takes no time, so it has no timing event: it ends when it begins.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/trace.hpp"

namespace hirgen {

/// One call as the host issued it.
struct RecordedCall {
  TraceKind kind;
  const char* name;                   ///< the function; of a kernel "kernel", "attention", ...
  const char* where;                  ///< label of the statement
  std::vector<const char*> and_also;  ///< labels of later NCCL calls of its group on this stream
  size_t track;                       ///< index of the stream, in the order of first use
  int64_t call;                       ///< number of the program's call (Context::call)
  int64_t issued;                     ///< when the host issued it, nanoseconds of its steady clock
  size_t begin;                       ///< index of the timing event before the call
  size_t end;  ///< index of the timing event after the call; for an event record, equal to `begin`
  std::optional<size_t> record;  ///< for an event wait: index of the call that recorded the event
};

/// Nanoseconds of this process's steady clock (see clock.hpp).
int64_t steady_nanoseconds();

class TraceRecorder {
 public:
  explicit TraceRecorder(Context& context) : context_(context) {}
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// Drops all recorded calls; their events are used again.
  void clear();
  /// Waits until all recorded calls are complete, also on streams that the caller's stream does not
  /// wait for. Throws as Context::synchronize() does.
  void synchronize();

  /// The recorded calls in the order of issue.
  const std::vector<RecordedCall>& calls() const { return calls_; }
  /// The streams' names (Context::stream_name), by RecordedCall::track.
  std::vector<std::string> tracks() const;
  /// The timing event at `index`. Throws Error(kDevice) if an event could not be made or recorded.
  cudaEvent_t event(size_t index) const;

 private:
  friend class TracedCall;
  struct Track {
    cudaStream_t stream;
    size_t last;                    // index of the timing event recorded last on the stream
    std::optional<size_t> grouped;  // index of the stream's call in the open NCCL group, if any
  };
  void begin(TraceKind kind, const char* name, const char* where, cudaStream_t stream,
             cudaEvent_t event);
  void end(TraceKind kind);
  size_t track_of(cudaStream_t stream);
  size_t mark(cudaStream_t stream);
  void finish(size_t call);

  Context& context_;
  std::vector<cudaEvent_t> events_;
  size_t used_ = 0;  // number of events in use
  std::vector<Track> tracks_;
  std::vector<RecordedCall> calls_;
  std::map<cudaEvent_t, size_t> records_;  // the last call that recorded each event
  int group_ = 0;                          // nesting depth of NCCL groups
  cudaError_t failure_ = cudaSuccess;      // error in creating or recording a timing event
};

/// Records this thread's calls during its lifetime; null records nothing.
class Recording {
 public:
  explicit Recording(TraceRecorder* recorder) { trace_recorder = recorder; }
  ~Recording() { trace_recorder = nullptr; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

}  // namespace hirgen
