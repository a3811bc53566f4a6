// Makes a host thread throw at its next statement, after ranks have failed.
#pragma once

#include <atomic>

namespace hirgen {

/// The flag of the context whose resources this thread makes, uses or frees. Once it is set, the
/// thread's next statement throws. Null if the thread cannot be called back.
extern thread_local const std::atomic<bool>* given_up;

}  // namespace hirgen
