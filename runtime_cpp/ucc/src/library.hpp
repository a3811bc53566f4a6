// UCC's library and context of one rank, and the thread that progresses them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "base/backoff.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/ucc.hpp"

namespace hirgen {

/// Owns UCC's library and context. UCC starts no threads: collectives make progress only in
/// ucc_context_progress(). A thread of this class calls that function while collectives are in
/// progress.
class UccLibrary {
 public:
  UccLibrary(Context& context, const char* where);
  ~UccLibrary();
  UccLibrary(const UccLibrary&) = delete;
  UccLibrary& operator=(const UccLibrary&) = delete;

  Context& context() const { return context_; }
  ucc_context_h handle() const { return ucc_; }

  /// Registers a collective that was issued. The thread progresses the collective until it ends,
  /// then frees its request.
  void take(ucc_coll_req_h request, const char* where);
  /// Blocks until all collectives have ended. If some are still in progress at the deadline, marks
  /// the library as broken, as set_broken(true) does.
  void drain();
  /// Progresses UCC until done() returns true. Returns false after the deadline, or if a rank has
  /// failed.
  template <typename Done>
  bool progress_until(Done done);
  /// Call this if progress_until() returned false. Throws the failure of a rank if there is one,
  /// else Error(kTimeout) with `text`.
  [[noreturn]] void give_up(const std::string& text) const;

  /// Returns whether UCC's objects can be freed: not after a failure of a rank, not while an
  /// exception unwinds the stack, and not after set_broken(true).
  bool sound() const;
  /// Notes whether the creation or the destruction of an object of UCC has failed or is not
  /// complete.
  void set_broken(bool broken) { broken_ = broken; }

 private:
  struct Posted {
    ucc_coll_req_h request;
    const char* where;
  };
  void open(const char* where);
  void progress();
  bool finish(const Posted& posted);

  Context& context_;
  ucc_lib_h lib_ = nullptr;
  ucc_context_h ucc_ = nullptr;
  const int exceptions_ = std::uncaught_exceptions();
  bool broken_ = false;
  std::mutex mutex_;  ///< guards posted_ and stop_
  std::condition_variable changed_;
  std::deque<Posted> posted_;  ///< in the order of issue
  bool stop_ = false;
  std::thread thread_;
};

template <typename Done>
bool UccLibrary::progress_until(Done done) {
  const Deadline deadline = after(context_.options().timeout_seconds);
  Backoff backoff;
  while (!done()) {
    if (context_.failure() || Clock::now() > deadline) return false;
    (void)ucc_context_progress(ucc_);
    backoff.pause();
  }
  return true;
}

}  // namespace hirgen
