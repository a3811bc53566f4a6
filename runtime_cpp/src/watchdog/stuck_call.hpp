// Describes in words the events and flags that an incomplete call waits for.
#pragma once

#include <cstdint>
#include <string>

#include "watchdog/device_monitor.hpp"

namespace hirgen {

/// Describes the oldest incomplete call, in several lines: the statements whose events are
/// incomplete, and the peers that have not set the flags that the call waits for. Waits for the
/// device for at most a second. `begun` is the number of calls that the host has begun. Returns ""
/// if all calls are complete.
std::string describe_stuck_call(DeviceMonitor& monitor, int64_t begun);

}  // namespace hirgen
