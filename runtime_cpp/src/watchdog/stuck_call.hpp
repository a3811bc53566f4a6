// What a call that is not complete waits for, in words for people.
#pragma once

#include <cstdint>
#include <string>

#include "watchdog/device_monitor.hpp"

namespace hirgen {

/// Lines on the oldest call that is not complete: the statements whose events are late, and the
/// peers that have not set the flags that it waits for. Waits for the device for a second at
/// most. `begun` is the number of calls that the host has begun; without one under way: "".
std::string describe_stuck_call(DeviceMonitor& monitor, int64_t begun);

}  // namespace hirgen
