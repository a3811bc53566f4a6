// How a host thread is called back from a call whose ranks have failed: at its next statement.
#pragma once

#include <atomic>

namespace hirgen {

/// Of the context whose resources this thread makes, uses or frees: once it is set, the thread's
/// next statement throws. Null where nothing calls the thread back.
extern thread_local const std::atomic<bool>* given_up;

}  // namespace hirgen
