// Events. A record is a position in a stream. A call that waits for an event waits for the last
// record that was made before the call.
#include <cuda_runtime.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "core/error.hpp"
#include "core/handles.hpp"
#include "graph/capture.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

namespace hirgen_cpu {

/// One cudaEventRecord. A wait that is in the queue keeps its record, even if the event is recorded
/// again.
struct Record {
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
  std::chrono::steady_clock::time_point time;  ///< when the stream reached the position

  bool complete() const {
    bool complete = Scheduler::get().done(*stream, position);
    if (complete) ordered_after(this);
    return complete;
  }
};

}  // namespace hirgen_cpu

namespace {

class RecordTask final : public Task {
 public:
  explicit RecordTask(std::shared_ptr<Record> record) : record_(std::move(record)) {}
  bool step() override {
    record_->time = std::chrono::steady_clock::now();
    ordered_before(record_.get());
    return true;
  }

 private:
  std::shared_ptr<Record> record_;
};

class WaitTask final : public Task {
 public:
  explicit WaitTask(std::shared_ptr<const Record> record) : record_(std::move(record)) {}
  bool ready() const override {
    return Scheduler::done_locked(*record_->stream, record_->position);
  }
  bool step() override {
    ordered_after(record_.get());
    return true;
  }

 private:
  std::shared_ptr<const Record> record_;
};

}  // namespace

struct CUevent_st {
  unsigned flags = cudaEventDefault;
  std::mutex mutex;
  std::shared_ptr<const Record> record;        ///< null if never recorded, or if `point` is set
  std::shared_ptr<const CapturedPoint> point;  ///< null unless the last record was captured
};

namespace {

CUevent_st& event_of(cudaEvent_t handle) { return Handles<CUevent_st>::get().check(handle); }

/// The event's last record, or null if there is none. Throws Failure if the record was captured.
std::shared_ptr<const Record> record_of(cudaEvent_t handle) {
  CUevent_st& event = event_of(handle);
  QuietLock lock(event.mutex);
  if (!event.point) return event.record;
  if (event.point->capture->ended()) {
    throw Failure{cudaErrorInvalidValue, "last recorded in a capture that has ended"};
  }
  throw Failure{cudaErrorCapturedEvent, "last recorded in a capturing stream"};
}

void set_record(CUevent_st& event, std::shared_ptr<const Record> record,
                std::shared_ptr<const CapturedPoint> point) {
  QuietLock lock(event.mutex);
  event.record = std::move(record);
  event.point = std::move(point);
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api("cudaEventCreateWithFlags", [&] {
    require(event != nullptr && flags <= (cudaEventBlockingSync | cudaEventDisableTiming),
            "null result or unknown flags");
    auto handle = std::make_unique<CUevent_st>();
    handle->flags = flags;
    *event = Handles<CUevent_st>::get().add(handle.release());
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api("cudaEventDestroy", [&] { delete Handles<CUevent_st>::get().remove(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api("cudaEventRecord", [&] {
    CUevent_st& target = event_of(event);
    std::shared_ptr<Stream> source = resolve(stream);
    if (auto capture = capture_of(stream)) {
      return set_record(target, nullptr, capture->record(*source));
    }
    auto record = std::make_shared<Record>();
    record->stream = std::move(source);
    submit(stream, [&](Stream& resolved) {
      record->position = Scheduler::get().submitted(resolved) + 1;
      Scheduler::get().push(resolved, std::make_unique<RecordTask>(record));
    });
    set_record(target, record, nullptr);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return api("cudaStreamWaitEvent", [&] {
    require(flags == cudaEventWaitDefault, "unknown flags");
    CUevent_st& source = event_of(event);
    std::shared_ptr<const Record> record;
    std::shared_ptr<const CapturedPoint> point;
    {
      QuietLock lock(source.mutex);
      record = source.record;
      point = source.point;
    }
    if (point) return wait_in_capture(stream, *point);
    if (!record) return;
    if (auto capture = capture_of(stream)) {
      capture->invalidate();
      throw Failure{cudaErrorStreamCaptureIsolation, "the event was recorded outside the capture"};
    }
    submit(stream, [&](Stream& resolved) {
      Scheduler::get().push(resolved, std::make_unique<WaitTask>(record));
    });
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api("cudaEventQuery", [&] {
    std::shared_ptr<const Record> record = record_of(event);
    forbid_unsafe_call();
    if (!record) return;
    if (!record->complete()) Scheduler::get().host_polls();
    if (!record->complete()) throw Failure{cudaErrorNotReady, ""};
    throw_fault();
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api("cudaEventSynchronize", [&] {
    std::shared_ptr<const Record> record = record_of(event);
    forbid_unsafe_call();
    if (!record) return;
    Scheduler::get().wait(record->stream, record->position);
    ordered_after(record.get());
    throw_fault();
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return api("cudaEventElapsedTime", [&] {
    require(ms != nullptr, "null result");
    for (cudaEvent_t event : {start, end}) {
      if ((event_of(event).flags & cudaEventDisableTiming) != 0 || !record_of(event)) {
        throw Failure{cudaErrorInvalidResourceHandle, "the event has no timing or no record"};
      }
    }
    std::shared_ptr<const Record> first = record_of(start), second = record_of(end);
    if (!first->complete() || !second->complete()) throw Failure{cudaErrorNotReady, ""};
    *ms = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  });
}
