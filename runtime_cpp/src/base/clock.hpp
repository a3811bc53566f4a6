// The clock of deadlines and time limits.
#pragma once

#include <chrono>

namespace hirgen {

/// A steady clock. After count_running_time() it leaves out times in which this process did not
/// run.
struct Clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;  // NOLINT(readability-identifier-naming): the standard's
  static time_point now();
};

using Deadline = Clock::time_point;

/// From now on the limits of this process count only the time that it runs: it may be stopped and
/// continued (SIGSTOP, SIGCONT) together with all other ranks. HIRGEN_RUNNING_TIME=1 asks for it.
void count_running_time();

/// The moment `seconds` from now.
inline Deadline after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// The timeout for a poll() until `deadline`: at least 0 and at most a minute. Callers then check
/// again.
int milliseconds_until(Deadline deadline);

/// How long ago `start` was, in seconds.
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace hirgen
