// Locks of the device itself, hidden from ThreadSanitizer, and the order that streams and
// events really give, shown to it.
//
// A GPU driver's locks order nothing between two streams. If the sanitizer saw ours, every pair
// of tasks would look ordered by them and a missing event wait would never be reported.
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

/// While it lives the sanitizer sees no access and no synchronisation of this thread.
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

/// A lock of the device's own state.
class QuietLock {
 public:
  explicit QuietLock(std::mutex& mutex) : lock_(mutex) {}
  std::unique_lock<std::mutex>& get() { return lock_; }

 private:
  Unobserved unobserved_;
  std::unique_lock<std::mutex> lock_;
};

/// What happened in this thread so far happens before what follows an `ordered_after(token)`.
inline void ordered_before([[maybe_unused]] const void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(const_cast<void*>(token));
#endif
}

/// See ordered_before().
inline void ordered_after([[maybe_unused]] const void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(const_cast<void*>(token));
#endif
}

}  // namespace hirgen_cpu
