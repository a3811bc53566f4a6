// Stream capture: calls on capturing streams are written down, lane by lane, and played back at
// each launch of the graph.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "stream/stream.hpp"

namespace hirgen_cpu {

/// How much captured work of each lane happens before a point of the capture.
using LaneClock = std::vector<size_t>;

/// What an event recorded in a capturing stream stands for.
struct CapturedPoint {
  std::shared_ptr<Capture> capture;
  size_t slot;      ///< number of the record within the capture
  LaneClock clock;  ///< what it orders after itself
};

/// A step of a graph, in the order of the calls. A lane is a captured stream; lane 0 is the one
/// that the capture began on.
struct GraphStep {
  enum class Kind { kCommand, kRecord, kWait };
  Kind kind;
  size_t lane;
  Command command;  ///< of kCommand
  size_t slot = 0;  ///< of kRecord and kWait
};

/// A capture under way.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  Capture(cudaStream_t origin, cudaStreamCaptureMode mode);

  void add(Stream& stream, Command command);
  std::shared_ptr<CapturedPoint> record(Stream& stream);
  /// Makes the stream of `handle` part of the capture if it is not yet.
  void wait(cudaStream_t handle, const CapturedPoint& point);
  /// A call that a capture does not allow was made: the capture will end with an error.
  void invalidate() { valid_ = false; }
  bool valid() const { return valid_; }
  bool ended() const { return ended_; }

  /// Whether an unsafe call in this thread, whose own mode is `callers`, breaks the capture.
  bool forbids_unsafe_calls(cudaStreamCaptureMode callers) const;
  /// Whether the legacy default stream would wait for the stream that the capture began on.
  bool blocks_default_stream() const { return blocks_default_stream_; }
  /// Ends the capture; throws what cudaStreamEndCapture returns.
  void end(cudaStream_t handle);

  const std::vector<GraphStep>& steps() const { return steps_; }
  size_t lanes() const { return lanes_.size(); }
  size_t slots() const { return slots_; }

 private:
  struct Lane {
    cudaStream_t handle;
    const Stream* stream;
    LaneClock clock;
    size_t work = 0;
  };
  Lane& lane_of(const Stream& stream);
  size_t join(cudaStream_t handle);
  void check_end(cudaStream_t handle) const;

  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_;
  const bool blocks_default_stream_;
  std::vector<Lane> lanes_;
  std::vector<GraphStep> steps_;
  size_t slots_ = 0;
  std::atomic<bool> valid_{true};
  std::atomic<bool> ended_{false};
};

/// cudaStreamWaitEvent for an event that was recorded in a capture: the stream joins it.
void wait_in_capture(cudaStream_t handle, const CapturedPoint& point);

/// Throws if the stream is being captured, and invalidates that capture: waiting for work that
/// has not been launched has no meaning.
void forbid_in_capture(cudaStream_t handle);

/// Throws if a capture forbids calls in this thread that allocate, or that wait or ask for work of
/// any stream (mode global or thread-local), and invalidates it.
void forbid_unsafe_call();

/// Throws if there is any capture, of whatever mode, and invalidates all of them.
void forbid_beside_captures();

/// Throws if the legacy default stream, asked for its state, stands beside a capture that it would
/// wait for; that capture goes on.
void forbid_default_stream_beside_capture();

}  // namespace hirgen_cpu
