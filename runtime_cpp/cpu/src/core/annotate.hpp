// Hides the device's locks from ThreadSanitizer, and shows it the order that streams and events
// guarantee.
//
// A GPU driver's locks do not order the work of two streams. If the sanitizer saw the locks of this
// device, they would seem to order all tasks, and it would never report a missing event wait.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace hirgen_cpu {

/// While an object exists, the sanitizer ignores all accesses and synchronisation of this thread.
class Unobserved {
 public:
  Unobserved() {
#if defined(__SANITIZE_THREAD__)
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
#endif
  }
  ~Unobserved() {
#if defined(__SANITIZE_THREAD__)
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;
};

/// Locks a mutex of the device's internal state. While the lock exists, the sanitizer ignores
/// everything that this thread does.
class QuietLock {
 public:
  explicit QuietLock(std::mutex& mutex) : lock_(mutex) {}
  std::unique_lock<std::mutex>& get() { return lock_; }

 private:
  Unobserved unobserved_;
  std::unique_lock<std::mutex> lock_;
};

/// Tells the sanitizer that the earlier work of this thread happens before the work that any thread
/// does after a later `ordered_after(token)`.
inline void ordered_before([[maybe_unused]] const void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(const_cast<void*>(token));
#endif
}

/// Tells the sanitizer that the work before each earlier `ordered_before(token)` happens before the
/// later work of this thread.
inline void ordered_after([[maybe_unused]] const void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(const_cast<void*>(token));
#endif
}

}  // namespace hirgen_cpu
