// Tasks: the units of work in the queue of a stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace hirgen_cpu {

/// A word on which a worker thread sleeps while its task waits, and the value that was read from
/// the word. A peer changes the word and wakes its sleepers when the task may be able to continue.
/// If `word` is null, the scheduler wakes the worker.
struct WaitHint {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t seen = 0;
};

/// A task runs in steps. So a task that waits (for an event, a peer, a memory word) blocks only its
/// stream, and other streams can run between its steps.
class Task {
 public:
  virtual ~Task() = default;
  /// Whether step() can make progress now. Called with the scheduler's lock held, so it must be
  /// cheap and have no side effects.
  virtual bool ready() const { return true; }
  /// Makes progress without waiting. Returns true when the task is complete.
  /// May throw Failure, which becomes the process's sticky fault.
  virtual bool step() = 0;
  /// The word to sleep on while ready() is false. Call this before ready(), so that no change is
  /// missed.
  virtual WaitHint hint() const { return {}; }
};

/// A task of one step, which is always ready.
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
