// Pauses of a host thread between its polls of a condition.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace hirgen {

/// Yields the processor 200 times, since most waits are short; then sleeps, for 20 to 100 us.
class Backoff {
 public:
  /// Waits once. Each sleep is 10 us longer than the one before, up to 100 us.
  void pause() {
    if (rounds_ < kSpins) {
      ++rounds_;
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
    if (sleep_us_ < kLongestUs) sleep_us_ += 10;
  }

 private:
  static constexpr int kSpins = 200;
  static constexpr int kLongestUs = 100;
  int rounds_ = 0;
  int sleep_us_ = 20;
};

}  // namespace hirgen
