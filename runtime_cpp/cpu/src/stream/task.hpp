// One piece of work on a stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace hirgen_cpu {

/// The word that another process changes (and wakes) when a task may be able to go on, and its
/// value when that was looked at. No word: only this process can make the task ready.
struct WaitHint {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t seen = 0;
};

/// A task runs in steps, so that one that waits (for an event, a peer, a memory word) holds up
/// its own stream and nothing else, and so that other streams can come between.
class Task {
 public:
  virtual ~Task() = default;
  /// Whether step() can get on now. Called with the scheduler's lock held: cheap, no side effects.
  virtual bool ready() const { return true; }
  /// Gets on as far as it can without waiting. True when the task is complete. May throw Failure,
  /// which becomes the process's sticky fault.
  virtual bool step() = 0;
  /// Where to sleep while not ready. Taken before ready() is asked, so that no change is missed.
  virtual WaitHint hint() const { return {}; }
};

/// A task of one step that never waits.
class CallTask final : public Task {
 public:
  explicit CallTask(std::function<void()> call) : call_(std::move(call)) {}
  bool step() override {
    call_();
    return true;
  }

 private:
  std::function<void()> call_;
};

}  // namespace hirgen_cpu
