// The set of live handles of one type. With it, API calls report a destroyed handle instead of
// dereferencing it.
#pragma once

#include <mutex>
#include <unordered_set>

#include "core/annotate.hpp"
#include "core/error.hpp"

namespace hirgen_cpu {

template <class Handle>
class Handles {
 public:
  static Handles& get() {
    static Handles& handles = *new Handles;
    return handles;
  }

  /// Adds a new handle and returns it.
  Handle* add(Handle* handle) {
    QuietLock lock(mutex_);
    live_.insert(handle);
    return handle;
  }

  /// Returns the handle; throws Failure(cudaErrorInvalidResourceHandle) unless it is live.
  Handle& check(Handle* handle) {
    QuietLock lock(mutex_);
    if (live_.count(handle) == 0) throw_invalid();
    return *handle;
  }

  /// Removes a handle, which the caller then deletes; throws as check() does.
  Handle* remove(Handle* handle) {
    QuietLock lock(mutex_);
    if (live_.erase(handle) == 0) throw_invalid();
    return handle;
  }

 private:
  [[noreturn]] static void throw_invalid() {
    throw Failure{cudaErrorInvalidResourceHandle, "the handle was destroyed or never created"};
  }
  std::mutex mutex_;
  std::unordered_set<Handle*> live_;
};

}  // namespace hirgen_cpu
