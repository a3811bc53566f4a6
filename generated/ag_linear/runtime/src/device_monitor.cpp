#include "device_monitor.hpp"

#include <algorithm>
#include <chrono>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// Often enough for deadlines of seconds, seldom enough not to disturb the host thread in
// the driver.
constexpr std::chrono::milliseconds kBusyPeriod(5);
constexpr std::chrono::milliseconds kIdlePeriod(50);

// The events of the set that are not complete in `call`.
Incomplete ask(const Events& set, int64_t call) {
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
  for (const Call& call : calls_) cudaEventDestroy(call.event);
  for (cudaEvent_t event : free_events_) cudaEventDestroy(event);
}

void DeviceMonitor::watch(const Events& events) {
  const std::lock_guard lock(mutex_);
  events_.push_back(events);
}

void DeviceMonitor::watch(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(comm);
}

void DeviceMonitor::forget_all() {
  const std::lock_guard users(comms_in_use_);
  const std::lock_guard lock(mutex_);
  events_.clear();
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
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({event, Clock::now()});
  }
  wake_.notify_all();
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

std::optional<OldestCall> DeviceMonitor::ask_oldest_call(double seconds) {
  std::unique_lock lock(mutex_);
  snapshot_wanted_ = true;
  wake_.notify_all();
  const bool answered =
      answered_.wait_until(lock, after(seconds), [this] { return !snapshot_wanted_; });
  return answered ? std::optional(snapshot_) : std::nullopt;
}

void DeviceMonitor::run() {
  cudaSetDevice(device_);
  // A stream capture of another thread, the host program's perhaps, must not be broken by
  // what is asked here.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!snapshot_wanted_) wake_.wait_for(lock, calls_.empty() ? kIdlePeriod : kBusyPeriod);
    if (stop_) break;
    const bool snapshot = snapshot_wanted_;
    lock.unlock();
    poll_calls();
    poll_comms();
    if (snapshot) take_snapshot();
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
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorNotReady) return;
    if (status != cudaSuccess) {
      set_failure(std::string("CUDA: ") + cudaGetErrorName(status) + ": " +
                  cudaGetErrorString(status));
      return;
    }
    const std::lock_guard lock(mutex_);
    calls_.pop_front();
    free_events_.push_back(event);
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

void DeviceMonitor::take_snapshot() {
  std::vector<Events> sets;
  OldestCall found;
  {
    const std::lock_guard lock(mutex_);
    sets = events_;
    found.call = completed_ + 1;
  }
  for (const Events& set : sets) {
    Incomplete incomplete = ask(set, found.call);
    if (!incomplete.indices.empty()) found.events.push_back(std::move(incomplete));
  }
  {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(found);
    snapshot_wanted_ = false;
  }
  answered_.notify_all();
}

void DeviceMonitor::set_failure(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = text;
}

}  // namespace hirgen
