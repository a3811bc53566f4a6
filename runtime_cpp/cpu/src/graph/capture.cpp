#include "graph/capture.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/annotate.hpp"
#include "core/error.hpp"
#include "core/handles.hpp"

namespace hirgen_cpu {
namespace {

/// The captures in progress in this process.
struct Active {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;
};
Active& active() {
  static Active& state = *new Active;
  return state;
}

void merge(LaneClock& into, const LaneClock& other) {
  into.resize(std::max(into.size(), other.size()));
  for (size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace

Capture::Capture(cudaStream_t origin, cudaStreamCaptureMode mode)
    : mode_(mode),
      thread_(std::this_thread::get_id()),
      blocks_default_stream_(origin->stream->blocking()) {
  lanes_.push_back({origin, origin->stream.get(), LaneClock(1), 0});
}

Capture::Lane& Capture::lane_of(const Stream& stream) {
  return *std::find_if(lanes_.begin(), lanes_.end(),
                       [&](const Lane& lane) { return lane.stream == &stream; });
}

void Capture::add(Stream& stream, Command command) {
  if (!valid_)
    throw Failure{cudaErrorStreamCaptureInvalidated, "an earlier call broke the capture"};
  Lane& lane = lane_of(stream);
  size_t index = static_cast<size_t>(&lane - lanes_.data());
  lane.clock.resize(lanes_.size());
  lane.clock[index] = ++lane.work;
  steps_.push_back({GraphStep::Kind::kCommand, index, std::move(command)});
}

std::shared_ptr<CapturedPoint> Capture::record(Stream& stream) {
  Lane& lane = lane_of(stream);
  size_t index = static_cast<size_t>(&lane - lanes_.data());
  steps_.push_back({GraphStep::Kind::kRecord, index, nullptr, slots_});
  return std::make_shared<CapturedPoint>(CapturedPoint{shared_from_this(), slots_++, lane.clock});
}

size_t Capture::join(cudaStream_t handle) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].handle == handle) return i;
  }
  lanes_.push_back({handle, handle->stream.get(), LaneClock(), 0});
  QuietLock lock(active().mutex);
  handle->capture = shared_from_this();
  return lanes_.size() - 1;
}

void Capture::wait(cudaStream_t handle, const CapturedPoint& point) {
  size_t lane = join(handle);
  merge(lanes_[lane].clock, point.clock);
  steps_.push_back({GraphStep::Kind::kWait, lane, nullptr, point.slot});
}

bool Capture::forbids_unsafe_calls(cudaStreamCaptureMode callers) const {
  if (mode_ == cudaStreamCaptureModeRelaxed || callers == cudaStreamCaptureModeRelaxed) {
    return false;
  }
  if (thread_ == std::this_thread::get_id()) return true;
  return mode_ == cudaStreamCaptureModeGlobal && callers == cudaStreamCaptureModeGlobal;
}

void Capture::check_end(cudaStream_t handle) const {
  if (lanes_[0].handle != handle) {
    throw Failure{cudaErrorStreamCaptureUnmatched, "the capture began on another stream"};
  }
  if (mode_ != cudaStreamCaptureModeRelaxed && thread_ != std::this_thread::get_id()) {
    throw Failure{cudaErrorStreamCaptureWrongThread, "the capture began in another thread"};
  }
}

void Capture::end(cudaStream_t handle) {
  check_end(handle);
  QuietLock lock(active().mutex);
  for (const Lane& lane : lanes_) lane.handle->capture = nullptr;
  std::erase(active().captures, shared_from_this());
  ended_ = true;
  if (!valid_)
    throw Failure{cudaErrorStreamCaptureInvalidated, "an earlier call broke the capture"};
  LaneClock joined = lanes_[0].clock;
  joined.resize(lanes_.size());
  for (size_t i = 1; i < lanes_.size(); ++i) {
    if (joined[i] == lanes_[i].work) continue;
    throw Failure{cudaErrorStreamCaptureUnjoined,
                  format("work of captured stream %zu is not joined to the first one", i)};
  }
}

std::shared_ptr<Capture> capture_of(cudaStream_t handle) {
  if (handle == nullptr) return nullptr;
  CUstream_st& stream = Handles<CUstream_st>::get().check(handle);
  QuietLock lock(active().mutex);
  return stream.capture;
}

cudaStreamCaptureStatus status_of(const std::shared_ptr<Capture>& capture) {
  if (!capture) return cudaStreamCaptureStatusNone;
  return capture->valid() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

void wait_in_capture(cudaStream_t handle, const CapturedPoint& point) {
  resolve(handle);
  Capture& capture = *point.capture;
  if (capture.ended()) {
    throw Failure{cudaErrorCapturedEvent, "the event was recorded in a capture that has ended"};
  }
  if (handle == nullptr) {
    capture.invalidate();
    throw Failure{cudaErrorStreamCaptureImplicit, "the legacy default stream cannot be captured"};
  }
  if (auto other = capture_of(handle); other && other != point.capture) {
    other->invalidate();
    capture.invalidate();
    throw Failure{cudaErrorStreamCaptureMerge, "the event belongs to another capture"};
  }
  capture.wait(handle, point);
}

void forbid_in_capture(cudaStream_t handle) {
  std::shared_ptr<Capture> capture = capture_of(handle);
  if (!capture) return;
  capture->invalidate();
  throw Failure{cudaErrorStreamCaptureUnsupported, "the stream is being captured"};
}

namespace {

/// The capture mode of this thread, which decides which captures forbid unsafe calls in this
/// thread.
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

}  // namespace

void forbid_unsafe_call() {
  QuietLock lock(active().mutex);
  for (const auto& capture : active().captures) {
    if (!capture->forbids_unsafe_calls(thread_mode)) continue;
    capture->invalidate();
    throw Failure{cudaErrorStreamCaptureUnsupported, "a capture is under way"};
  }
}

void forbid_beside_captures() {
  QuietLock lock(active().mutex);
  if (active().captures.empty()) return;
  for (const auto& capture : active().captures) capture->invalidate();
  throw Failure{cudaErrorStreamCaptureUnsupported, "a capture is under way"};
}

void forbid_default_stream_beside_capture() {
  QuietLock lock(active().mutex);
  for (const auto& capture : active().captures) {
    if (!capture->blocks_default_stream()) continue;
    throw Failure{cudaErrorStreamCaptureImplicit, "a stream that it waits for is being captured"};
  }
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCapture", [&] {
    if (stream == nullptr) {
      throw Failure{cudaErrorStreamCaptureUnsupported, "the legacy default stream"};
    }
    if (capture_of(stream)) throw Failure{cudaErrorIllegalState, "already capturing"};
    QuietLock lock(active().mutex);
    stream->capture = std::make_shared<Capture>(stream, mode);
    active().captures.push_back(stream->capture);
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&] {
    require(mode != nullptr, "null mode");
    std::swap(*mode, thread_mode);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
  return api("cudaStreamIsCapturing", [&] {
    require(pCaptureStatus != nullptr, "null result");
    if (stream == nullptr) forbid_default_stream_beside_capture();
    *pCaptureStatus = status_of(capture_of(stream));
  });
}
