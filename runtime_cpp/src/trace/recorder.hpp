// What --trace notes while a program issues its calls: each call that goes onto a stream, and a
// timing event behind it.
//
// A stream does one thing after the other, so one event behind each call is enough: the call
// begins where the one before it on the stream ends, or when the host issues it, if that is later.
// An event record takes no time and has no event of its own: it is due where the call before it
// ends, so that what waits for it never ends before it.
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

/// One call as it was issued.
struct RecordedCall {
  TraceKind kind;
  const char* name;                   ///< of the function; "kernel" for a kernel of the runtime
  const char* where;                  ///< label of the statement
  std::vector<const char*> and_also;  ///< labels of the NCCL calls that start together with it
  size_t track;
  int64_t call;                  ///< of the program (Context::call)
  int64_t issued;                ///< by the host, nanoseconds of its steady clock
  size_t begin;                  ///< index of the timing event that it begins behind,
  size_t end;                    ///< and of the one that it ends before
  std::optional<size_t> record;  ///< of an event wait: index of the call that it waits for
};

/// Nanoseconds of this node's steady clock, which all of its processes have in common.
int64_t steady_nanoseconds();

class TraceRecorder {
 public:
  explicit TraceRecorder(Context& context) : context_(context) {}
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// Forgets what was recorded; the events are used again.
  void clear();
  /// Waits until all that was recorded is complete: a program need not end with all of its streams
  /// joined. Throws as Context::synchronize does.
  void synchronize();

  /// In the order of issue.
  const std::vector<RecordedCall>& calls() const { return calls_; }
  /// The streams' names (Context::stream_name), by RecordedCall::track.
  std::vector<std::string> tracks() const;
  /// Throws Error(kDevice) if an event could not be made or recorded.
  cudaEvent_t event(size_t index) const;

 private:
  friend class TracedCall;
  struct Track {
    cudaStream_t stream;
    size_t last;                    // event recorded on it
    std::optional<size_t> grouped;  // its call in the group of NCCL calls that is open
  };
  void begin(TraceKind kind, const char* name, const char* where, cudaStream_t stream,
             cudaEvent_t event);
  void end(TraceKind kind);
  size_t track_of(cudaStream_t stream);
  size_t mark(cudaStream_t stream);
  void finish(size_t call);

  Context& context_;
  std::vector<cudaEvent_t> events_;
  size_t used_ = 0;  // of them
  std::vector<Track> tracks_;
  std::vector<RecordedCall> calls_;
  std::map<cudaEvent_t, size_t> records_;  // by event, the call that recorded it last
  int group_ = 0;                          // depth
  cudaError_t failure_ = cudaSuccess;      // of an event
};

/// While it lives, this thread's calls are recorded; with null they are not.
class Recording {
 public:
  explicit Recording(TraceRecorder* recorder) { trace_recorder = recorder; }
  ~Recording() { trace_recorder = nullptr; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

}  // namespace hirgen
