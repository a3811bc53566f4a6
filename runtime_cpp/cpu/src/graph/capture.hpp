// Stream capture: records the calls on capturing streams as steps. Each launch of the graph repeats
// the steps.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "stream/stream.hpp"

namespace hirgen_cpu {

/// For each lane (a captured stream), the number of its commands that happen before a point of the
/// capture. For lanes beyond the end of the vector, the number is 0.
using LaneClock = std::vector<size_t>;

/// A record of an event in a capturing stream.
struct CapturedPoint {
  std::shared_ptr<Capture> capture;
  size_t slot;      ///< number of the record within the capture, from 0
  LaneClock clock;  ///< the commands that happen before the record
};

/// A step of a graph. Steps are in the order of the captured calls. Lane 0 is the stream on which
/// the capture began.
struct GraphStep {
  enum class Kind { kCommand, kRecord, kWait };
  Kind kind;
  size_t lane;
  Command command;  ///< of a kCommand, else null
  size_t slot = 0;  ///< of a kRecord; of a kWait: the slot of the awaited record
};

/// Objects that a graph and its executable graphs own together.
using Kept = std::vector<std::shared_ptr<void>>;

/// A capture of calls on one or several streams. After its end, its graph and executable graphs own
/// it.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  Capture(cudaStream_t origin, cudaStreamCaptureMode mode);

  void add(Stream& stream, Command command);
  std::shared_ptr<CapturedPoint> record(Stream& stream);
  /// Makes the stream of `handle` wait for the record `point`. Adds the stream to the capture if it
  /// is not part of it yet.
  void wait(cudaStream_t handle, const CapturedPoint& point);
  /// Notes a call that a capture does not allow. The capture will end with an error.
  void invalidate() { valid_ = false; }
  bool valid() const { return valid_; }
  bool ended() const { return ended_; }

  /// Whether an unsafe call (see forbid_unsafe_call()) in this thread, whose capture mode is
  /// `callers`, breaks the capture.
  bool forbids_unsafe_calls(cudaStreamCaptureMode callers) const;
  /// Whether the legacy default stream would wait for the stream on which the capture began.
  bool blocks_default_stream() const { return blocks_default_stream_; }
  /// Ends the capture. Throws Failure with the error that cudaStreamEndCapture returns, if the
  /// capture is invalid or a stream is not joined. If `handle` is not the stream on which the
  /// capture began, or this thread may not end it, throws and does not end the capture.
  void end(cudaStream_t handle);

  /// Makes the capture's graph an owner of an object.
  void keep(std::shared_ptr<void> object) { kept_->push_back(std::move(object)); }
  /// The handle of the capture's graph. The first call makes it.
  cudaGraph_t graph();
  /// Returns the handle of the graph, which the caller then owns.
  cudaGraph_t take_graph();
  /// Destroys the graph, if graph() has made it. Used if the capture ends with an error.
  void drop_graph();

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
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  cudaGraph_t graph_ = nullptr;
  std::atomic<bool> valid_{true};
  std::atomic<bool> ended_{false};
};

/// cudaStreamWaitEvent for an event that was recorded in a capture: the stream joins the capture.
/// Throws Failure if it cannot.
void wait_in_capture(cudaStream_t handle, const CapturedPoint& point);

/// The status of a capture; of null, cudaStreamCaptureStatusNone.
cudaStreamCaptureStatus status_of(const std::shared_ptr<Capture>& capture);
/// The objects of a graph. Throws Failure if there is no such graph.
std::shared_ptr<Kept> kept_by(cudaGraph_t graph);

/// Throws if the stream is being captured, and invalidates that capture. Used by calls that a
/// capture cannot record: queries of the stream, waits of the host for the stream (captured work
/// does not run), launches of graphs, and the destruction of the stream.
void forbid_in_capture(cudaStream_t handle);

/// Throws if a capture in progress (of mode global or thread-local) forbids unsafe calls in this
/// thread, and invalidates that capture. Calls are unsafe if they allocate or free memory, or if
/// they query work of a stream or wait for it.
void forbid_unsafe_call();

/// Throws if any capture is in progress in this process, whatever its mode, and invalidates all
/// captures.
void forbid_beside_captures();

/// For queries of the legacy default stream's capture status: throws if that stream would wait for
/// the stream on which a capture began. The capture stays valid.
void forbid_default_stream_beside_capture();

}  // namespace hirgen_cpu
