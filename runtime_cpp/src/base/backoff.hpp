// How a host thread waits for something that it can only ask about.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace hirgen {

/// First spins, since most waits are short; then sleeps, 20 to 100 us at a time.
class Backoff {
 public:
  /// Waits a little; longer each time.
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
