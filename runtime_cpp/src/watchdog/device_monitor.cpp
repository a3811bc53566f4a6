#include "watchdog/device_monitor.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// The pauses between polls, with and without incomplete calls: short enough for deadlines of
// seconds, and long enough not to delay the host thread in the CUDA driver.
constexpr std::chrono::milliseconds kBusyPeriod(5);
constexpr std::chrono::milliseconds kIdlePeriod(50);
// A call ends well within this time after its last event.
constexpr std::chrono::milliseconds kEndOfCall(20);

constexpr const char* kWatchingFlags = "watching flags";

// The events of the set that are not complete in `call`; `indices` is empty if all are complete.
Incomplete late_events(const Events& set, int64_t call) {
  Incomplete incomplete{set.name(), set.where(), set.size(), {}, 0, UINT64_MAX};
  for (int64_t i = 0; i < set.size(); ++i) {
    if (cudaEventQuery(set.of_call(call, i)) != cudaErrorNotReady) continue;
    incomplete.indices.push_back(i);
    const uint64_t use = set.use_in_call(call, i);
    if (use >= incomplete.use) continue;
    incomplete.use = use;
    incomplete.first = i;
  }
  return incomplete;
}

}  // namespace

Incomplete first_incomplete(const std::vector<Incomplete>& events) {
  return *std::min_element(events.begin(), events.end(),
                           [](const Incomplete& a, const Incomplete& b) { return a.use < b.use; });
}

DeviceMonitor::DeviceMonitor(int device) : device_(device) {
  thread_ = std::thread([this] { run(); });
}

DeviceMonitor::~DeviceMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  for (const Call& call : calls_) {
    if (call.event != nullptr) cudaEventDestroy(call.event);
  }
  for (cudaEvent_t event : free_events_) cudaEventDestroy(event);
  if (flag_stream_ != nullptr) cudaStreamDestroy(flag_stream_);
}

void DeviceMonitor::watch(const Events& events) {
  const std::lock_guard lock(mutex_);
  events_.push_back(events);
}

void DeviceMonitor::watch(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(comm);
}

void DeviceMonitor::watch(std::shared_ptr<FlagWaits> waits) {
  cudaStream_t stream = flag_stream_;  // no lock: only this function writes it
  if (stream == nullptr) {
    // Streams of equal priority can share a hardware queue. Streams that may be stuck have the
    // lowest or the highest priority, so this stream has one between them.
    int lowest = 0;
    int highest = 0;
    HG_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest), kWatchingFlags);
    HG_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, (lowest + highest) / 2),
             kWatchingFlags);
  }
  const std::lock_guard lock(mutex_);
  flag_stream_ = stream;
  waits_.push_back(std::move(waits));
}

void DeviceMonitor::watch(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

void DeviceMonitor::forget(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
}

std::vector<ncclComm_t> DeviceMonitor::take_comms() {
  const std::lock_guard users(comms_in_use_);
  const std::lock_guard lock(mutex_);
  return std::exchange(comms_, {});
}

void DeviceMonitor::release_flags() {
  std::vector<std::shared_ptr<FlagWaits>> all;
  cudaStream_t stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    all = waits_;
    stream = flag_stream_;
  }
  for (const auto& waits : all) waits->release(stream);
}

bool DeviceMonitor::idle() const {
  std::vector<cudaEvent_t> calls;
  std::vector<cudaStream_t> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const Call& call : calls_) {
      if (call.event != nullptr) calls.push_back(call.event);
    }
    streams = streams_;
  }
  return std::all_of(calls.begin(), calls.end(),
                     [](cudaEvent_t call) { return cudaEventQuery(call) != cudaErrorNotReady; }) &&
         std::all_of(streams.begin(), streams.end(), [](cudaStream_t stream) {
           return cudaStreamQuery(stream) != cudaErrorNotReady;
         });
}

void DeviceMonitor::forget_all() {
  const std::lock_guard users(comms_in_use_);
  const std::lock_guard lock(mutex_);
  events_.clear();
  streams_.clear();
  comms_.clear();
}

cudaEvent_t DeviceMonitor::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_events_.empty()) {
      cudaEvent_t event = free_events_.back();
      free_events_.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  HG_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "end of call");
  return event;
}

void DeviceMonitor::call_issued(cudaEvent_t event) {
  bool idle = false;
  {
    const std::lock_guard lock(mutex_);
    idle = calls_.empty();
    calls_.push_back({event, Clock::now()});
  }
  // If earlier calls are incomplete, the thread polls every kBusyPeriod anyway. Waking it would
  // take the host longer than launching a kernel.
  if (idle) wake_.notify_all();
}

bool DeviceMonitor::all_completed() const {
  const std::lock_guard lock(mutex_);
  return calls_.empty();
}

int64_t DeviceMonitor::completed() const {
  const std::lock_guard lock(mutex_);
  return completed_;
}

double DeviceMonitor::oldest_seconds() const {
  const std::lock_guard lock(mutex_);
  if (calls_.empty()) return 0;
  return seconds_since(std::max(calls_.front().issued, last_completion_));
}

Clock::time_point DeviceMonitor::last_completion() const {
  const std::lock_guard lock(mutex_);
  return last_completion_;
}

std::string DeviceMonitor::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool DeviceMonitor::ask(Question question, double seconds, std::unique_lock<std::mutex>& lock) {
  question_ = question;
  wake_.notify_all();
  return answered_.wait_until(lock, after(seconds),
                              [this] { return question_ == Question::kNone; });
}

std::optional<OldestCall> DeviceMonitor::ask_oldest_call(double seconds) {
  std::unique_lock lock(mutex_);
  return ask(Question::kEvents, seconds, lock) ? std::optional(oldest_) : std::nullopt;
}

std::optional<std::vector<MissingFlags>> DeviceMonitor::ask_missing_flags(int64_t call,
                                                                          double seconds) {
  std::unique_lock lock(mutex_);
  asked_call_ = call;
  return ask(Question::kFlags, seconds, lock) ? std::optional(missing_) : std::nullopt;
}

void DeviceMonitor::run() {
  cudaSetDevice(device_);
  // The queries of this thread must not break a stream capture in another thread, such as one of
  // the host program.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (question_ == Question::kNone) {
      wake_.wait_for(lock, calls_.empty() ? kIdlePeriod : kBusyPeriod);
    }
    if (stop_) break;
    const Question question = question_;
    lock.unlock();
    poll_calls();
    poll_comms();
    if (question != Question::kNone) answer(question);
    lock.lock();
  }
}

void DeviceMonitor::poll_calls() {
  while (true) {
    cudaEvent_t event = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.empty()) return;
      event = calls_.front().event;
    }
    const cudaError_t status = event == nullptr ? cudaSuccess : cudaEventQuery(event);
    if (status == cudaErrorNotReady) return;
    if (status != cudaSuccess) {
      set_failure(std::string("CUDA: ") + cudaGetErrorName(status) + ": " +
                  cudaGetErrorString(status));
      return;
    }
    const std::lock_guard lock(mutex_);
    calls_.pop_front();
    if (event != nullptr) free_events_.push_back(event);
    ++completed_;
    last_completion_ = Clock::now();
  }
}

void DeviceMonitor::poll_comms() {
  const std::lock_guard users(comms_in_use_);
  std::vector<ncclComm_t> comms;
  {
    const std::lock_guard lock(mutex_);
    comms = comms_;
  }
  for (ncclComm_t comm : comms) {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) continue;
    if (state == ncclSuccess || state == ncclInProgress) continue;
    const char* detail = ncclGetLastError(comm);
    set_failure(std::string("NCCL: ") + ncclGetErrorString(state) +
                (detail != nullptr && *detail != '\0' ? std::string(" (") + detail + ")" : ""));
  }
}

void DeviceMonitor::answer(Question question) {
  OldestCall oldest;
  std::vector<MissingFlags> missing;
  if (question == Question::kEvents) {
    oldest = find_events();
  } else {
    missing = find_missing();
  }
  {
    const std::lock_guard lock(mutex_);
    oldest_ = std::move(oldest);
    missing_ = std::move(missing);
    question_ = Question::kNone;
  }
  answered_.notify_all();
}

// Waits a little if all events of the oldest call are complete: it ends soon, and then the next
// call is the oldest.
OldestCall DeviceMonitor::find_events() {
  const Clock::time_point until = Clock::now() + kEndOfCall;
  while (true) {
    OldestCall found = find_events_now();
    if (!found.events.empty() || idle() || Clock::now() >= until) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    poll_calls();
  }
}

OldestCall DeviceMonitor::find_events_now() {
  std::vector<Events> sets;
  OldestCall found;
  {
    const std::lock_guard lock(mutex_);
    sets = events_;
    found.call = completed_ + 1;
  }
  for (const Events& set : sets) {
    Incomplete incomplete = late_events(set, found.call);
    if (!incomplete.indices.empty()) found.events.push_back(std::move(incomplete));
  }
  return found;
}

std::vector<MissingFlags> DeviceMonitor::find_missing() {
  std::vector<std::shared_ptr<FlagWaits>> all;
  cudaStream_t stream = nullptr;
  int64_t call = 0;
  {
    const std::lock_guard lock(mutex_);
    all = waits_;
    stream = flag_stream_;
    call = asked_call_;
  }
  std::vector<MissingFlags> missing;
  for (const auto& waits : all) find_missing_flags(*waits, call, stream, &missing);
  return missing;
}

void DeviceMonitor::set_failure(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = text;
}

}  // namespace hirgen
