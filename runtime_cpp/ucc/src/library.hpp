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

/// UCC has no thread: collectives move on when the context is progressed.
class UccLibrary {
 public:
  UccLibrary(Context& context, const char* where);
  ~UccLibrary();
  UccLibrary(const UccLibrary&) = delete;
  UccLibrary& operator=(const UccLibrary&) = delete;

  Context& context() const { return context_; }
  ucc_context_h handle() const { return ucc_; }

  /// Takes a collective that was issued: the thread progresses it and frees its request.
  void take(ucc_coll_req_h request, const char* where);
  /// Waits until all collectives have ended, at most until the deadline.
  void drain();
  /// Progresses UCC until `done` holds. Returns false after the deadline, or if the ranks fail.
  template <typename Done>
  bool progress_until(Done done);
  /// After progress_until(): throws the failure of the ranks, or kTimeout.
  [[noreturn]] void give_up(const std::string& text) const;

  /// Whether UCC's objects can be freed.
  bool sound() const;
  /// Notes whether some object was not made, or not freed.
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
  std::mutex mutex_;  ///< guards the members below
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
