#include "base/wait_ready.hpp"

#include <poll.h>

#include <cerrno>

namespace hirgen {

bool wait_ready(int fd, short events, Deadline deadline) {
  while (true) {
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline) break;
  }
  errno = ETIMEDOUT;
  return false;
}

}  // namespace hirgen
