// The clock of deadlines and time limits.
#pragma once

#include <chrono>

namespace hirgen {

/// A steady clock. After count_running_time(), it counts at most 0.2 s of each period in which this
/// process does not run.
struct Clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;  // NOLINT(readability-identifier-naming): the standard's
  static time_point now();
};

using Deadline = Clock::time_point;

/// Makes Clock leave out the time in which this process is stopped, but for 0.2 s, so that all
/// ranks together may be stopped and continued (SIGSTOP, SIGCONT). A Context calls this for
/// ContextOptions::running_time or HIRGEN_RUNNING_TIME=1.
void count_running_time();

/// The moment `seconds` from now.
inline Deadline after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// The timeout in milliseconds for a poll() until `deadline`, rounded up: 0 from 1 ms after the
/// deadline on, and about a minute at most, after which callers check the deadline again.
int milliseconds_until(Deadline deadline);

/// How long ago `start` was, in seconds.
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace hirgen
