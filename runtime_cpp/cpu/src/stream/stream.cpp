#include "stream/stream.hpp"

#include <map>
#include <utility>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/handles.hpp"
#include "graph/capture.hpp"
#include "log/accesses.hpp"

namespace hirgen_cpu {
namespace {

/// A task that waits until another stream has reached a position.
class PositionTask final : public Task {
 public:
  PositionTask(std::shared_ptr<Stream> stream, uint64_t position)
      : stream_(std::move(stream)), position_(position) {}
  bool ready() const override { return Scheduler::done_locked(*stream_, position_); }
  bool step() override {
    ordered_after(stream_.get());
    return true;
  }

 private:
  std::shared_ptr<Stream> stream_;
  uint64_t position_;
};

/// The legacy default stream of each device, made on first use.
class DefaultStreams {
 public:
  static DefaultStreams& get() {
    static DefaultStreams& streams = *new DefaultStreams;
    return streams;
  }
  std::shared_ptr<Stream> at(int device) {
    QuietLock lock(mutex_);
    auto& stream = streams_[device];
    if (!stream) stream = Scheduler::get().create(device, cudaStreamNonBlocking, 0, true);
    return stream;
  }
  /// The default stream of a device; null if it was never used.
  std::shared_ptr<Stream> find(int device) {
    QuietLock lock(mutex_);
    auto entry = streams_.find(device);
    return entry == streams_.end() ? nullptr : entry->second;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Stream>> streams_;
};

/// Adds the waits of the legacy default stream: it waits for all blocking streams of its device,
/// and they wait for it.
void order_with_default_stream(Stream& stream, bool is_default) {
  Scheduler& scheduler = Scheduler::get();
  if (is_default) {
    for (const auto& other : scheduler.blocking_streams(stream.device)) {
      push_wait(stream, other, scheduler.submitted(*other));
    }
  } else if (stream.blocking()) {
    if (auto other = DefaultStreams::get().find(stream.device)) {
      push_wait(stream, other, scheduler.submitted(*other));
    }
  }
}

/// Wraps a kernel so that each run writes its line of the log, with the memory that it accessed.
std::function<void()> observed(std::function<void()> work, LoggedCall call) {
  return [work = std::move(work), call = std::move(call)] {
    Accesses accesses;
    work();
    write_logged(call, accesses.operands());
  };
}

}  // namespace

void push_wait(Stream& stream, const std::shared_ptr<Stream>& other, uint64_t position) {
  if (other.get() == &stream || Scheduler::get().done(*other, position)) return;
  Scheduler::get().push(stream, std::make_unique<PositionTask>(other, position));
}

std::shared_ptr<Stream> resolve(cudaStream_t handle) {
  if (handle == nullptr) return DefaultStreams::get().at(current_device());
  return Handles<CUstream_st>::get().check(handle).stream;
}

void submit(cudaStream_t handle, Command command) {
  std::shared_ptr<Stream> stream = resolve(handle);
  if (auto capture = capture_of(handle)) return capture->add(*stream, std::move(command));
  order_with_default_stream(*stream, handle == nullptr);
  command(*stream);
}

void submit_call(cudaStream_t handle, std::function<void()> call) {
  submit(handle, [call = std::move(call)](Stream& stream) {
    Scheduler::get().push(stream, std::make_unique<CallTask>(call));
  });
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return api("cudaStreamCreateWithPriority", [&] {
    require(pStream != nullptr && flags <= cudaStreamNonBlocking, "null result or unknown flags");
    auto handle = std::make_unique<CUstream_st>();
    handle->stream = Scheduler::get().create(current_device(), flags, clamp_priority(priority));
    *pStream = Handles<CUstream_st>::get().add(handle.release());
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api("cudaStreamDestroy", [&] {
    require(stream != nullptr, "the default stream");
    forbid_in_capture(stream);
    std::unique_ptr<CUstream_st> handle(Handles<CUstream_st>::get().remove(stream));
    Scheduler::get().close(handle->stream);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return api("cudaStreamQuery", [&] {
    std::shared_ptr<Stream> target = resolve(stream);
    forbid_in_capture(stream);
    forbid_unsafe_call();
    Scheduler& scheduler = Scheduler::get();
    uint64_t position = scheduler.submitted(*target);
    if (!scheduler.done(*target, position)) scheduler.host_polls();
    if (!scheduler.done(*target, position)) throw Failure{cudaErrorNotReady, ""};
    throw_fault();
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return api("cudaStreamSynchronize", [&] {
    std::shared_ptr<Stream> target = resolve(stream);
    forbid_in_capture(stream);
    forbid_unsafe_call();
    Scheduler::get().wait(target, Scheduler::get().submitted(*target));
    throw_fault();
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return api("cudaDeviceSynchronize", [&] {
    forbid_beside_captures();
    Scheduler::get().wait_all(current_device());
    throw_fault();
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return api("cudaLaunchHostFunc", [&] {
    require(fn != nullptr, "null function");
    submit_call(stream, [=] {
      HostFunctionScope scope;
      fn(userData);
    });
  });
}

void hirgen_cpu_launch(cudaStream_t stream, std::function<void()> work, const char* where) {
  api("kernel launch", [&] {
    if (logging()) work = observed(std::move(work), begin_logged("kernel", stream, where));
    submit_call(stream, [work = std::move(work), where] {
      try {
        work();
      } catch (const Failure& failure) {
        throw Failure{failure.code, std::string(where) + ": " + failure.text};
      } catch (const std::exception& error) {
        throw Failure{cudaErrorLaunchFailure, std::string(where) + ": " + error.what()};
      }
    });
  });
}

void hirgen_cpu_misaligned(const void* address, size_t bytes) {
  throw Failure{
      cudaErrorMisalignedAddress,
      format("an access of %zu bytes at %p, which is no multiple of them", bytes, address)};
}
