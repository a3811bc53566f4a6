// Reports the calls of a program to the watchdog, and waits for their end.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "context/resources.hpp"
#include "hirgen/context.hpp"
#include "watchdog/fault.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {

void Context::watch(std::shared_ptr<FlagWaits> waits) {
  resources_->monitor->watch(std::move(waits));
}

void Context::begin_call(bool captured) {
  const int64_t call = watchdog_->begin_call();
  clock_.call = call;
  clock_.before = clock_.uses.load();
  captured_ = captured;
  if (fault::begin_call(call) && !captured) wait_for_calls();
}

void Context::call_issued(cudaStream_t caller) {
  DeviceMonitor& monitor = *resources_->monitor;
  cudaEvent_t event = nullptr;
  if (!captured_) {
    event = monitor.take_event();
    // "::" calls CUDA itself instead of the traced wrapper: the event belongs to DeviceMonitor, not
    // to the program.
    HG_CHECK(::cudaEventRecord(event, caller), "end of call");
  }
  monitor.call_issued(event);
  watchdog_->call_issued();
}

// Waits until done() returns true. Throws the failure of a rank or of the device, or
// Error(kTimeout) with the text `what` after the deadline, which restarts whenever a call
// completes.
template <typename Done>
void Context::wait_until(Done done, const char* what) {
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> limit(options_.timeout_seconds);
  Backoff backoff;
  while (!done()) {
    if (const auto failed = failure()) throw *failed;
    if (const std::string text = resources_->monitor->failure(); !text.empty()) {
      throw Error(Code::kDevice, text);
    }
    if (Clock::now() - std::max(start, resources_->monitor->last_completion()) > limit) {
      throw Error(Code::kTimeout,
                  std::string(what) + " within " + seconds_text(options_.timeout_seconds));
    }
    backoff.pause();
  }
}

void Context::synchronize(cudaStream_t stream) {
  const auto idle = [stream] {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) HG_CHECK(status, "synchronize");
    return status == cudaSuccess;
  };
  wait_until(idle, "the stream did not become idle");
}

void Context::note_failure(const std::string& text) { resources_->monitor->set_failure(text); }

void Context::wait_for_calls() {
  wait_until([this] { return resources_->monitor->all_completed(); }, "the calls did not complete");
}

void Context::finish() {
  if (watchdog_->failed()) return;
  try {
    wait_for_calls();
  } catch (const Error& error) {
    fail(error);
  }
}

void Context::fail(const Error& error) { watchdog_->fail(error); }

std::optional<Error> Context::failure() const { return watchdog_->failure(); }

void Context::call_failed(cudaStream_t caller) {
  if (!options_.survives || captured_) return;
  cudaEvent_t event = nullptr;
  try {
    event = resources_->monitor->take_event();
  } catch (const Error&) {
    return;  // the device takes no more work, so there is none to wait for
  }
  if (::cudaEventRecord(event, caller) == cudaSuccess) resources_->monitor->call_issued(event);
}

}  // namespace hirgen
