// The flag that makes a host thread throw at its next statement after the ranks are given up
// (watchdog.hpp).
#pragma once

#include <atomic>

namespace hirgen {

/// The flag of the context whose resources this thread makes, uses or frees. Once the flag is true,
/// begin_statement() throws on this thread, unless another exception is in flight. Null if the
/// thread is outside Watchdog::Inside.
extern thread_local const std::atomic<bool>* given_up;

}  // namespace hirgen
