#include "base/clock.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace hirgen {

namespace {

using Steady = std::chrono::steady_clock;

// After count_running_time(), a thread reads the clock every kPulse. If more than kLongestGap
// passes between two reads, the process did not run. Of such a gap, only kLongestGap counts.
constexpr std::chrono::milliseconds kPulse(20);
constexpr std::chrono::milliseconds kLongestGap(200);

std::atomic<bool> g_only_running{false};
std::mutex g_mutex;
Steady::time_point g_last_look;     // guarded by g_mutex, like g_not_counted
Steady::duration g_not_counted{0};  // sum of the parts of gaps that do not count

Steady::duration running_time() {
  const std::lock_guard lock(g_mutex);
  const Steady::time_point now = Steady::now();
  if (now - g_last_look > kLongestGap) g_not_counted += now - g_last_look - kLongestGap;
  g_last_look = now;
  return now.time_since_epoch() - g_not_counted;
}

}  // namespace

Clock::time_point Clock::now() {
  if (g_only_running.load(std::memory_order_acquire)) return time_point(running_time());
  return time_point(Steady::now().time_since_epoch());
}

void count_running_time() {
  const std::lock_guard lock(g_mutex);
  if (g_only_running.load()) return;
  g_last_look = Steady::now();
  g_only_running.store(true, std::memory_order_release);
  std::thread([] {
    while (true) {
      std::this_thread::sleep_for(kPulse);
      running_time();
    }
  }).detach();
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left < 0) return 0;
  return left > 60'000 ? 60'000 : static_cast<int>(left) + 1;
}

}  // namespace hirgen
