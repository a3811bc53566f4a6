// Waits for one file descriptor.
#pragma once

#include "base/clock.hpp"

namespace hirgen {

/// Waits until `fd` is ready for `events` (POLLIN or POLLOUT) or broken; the next transfer then
/// reports the error. Returns false if it cannot wait any longer, with errno: ETIMEDOUT at the
/// deadline, or the error of poll(). Checks `fd` once even after the deadline.
bool wait_ready(int fd, short events, Deadline deadline);

}  // namespace hirgen
