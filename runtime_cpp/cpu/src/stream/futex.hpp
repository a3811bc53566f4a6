// Futexes on words of memory that several processes map.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace hirgen_cpu {

/// If *word == seen, sleeps until futex_wake(word), for at most `limit`, which must be less than a
/// second. May return early.
inline void futex_wait(const std::atomic<uint32_t>* word, uint32_t seen,
                       std::chrono::nanoseconds limit) {
  timespec time{};
  time.tv_nsec = limit.count();
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

/// Wakes every process and thread that sleeps on the word.
inline void futex_wake(const std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace hirgen_cpu
