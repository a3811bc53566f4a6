// The worker thread of a stream: sleeps until the scheduler grants it a step, runs the step, and
// reports its end.
#include <thread>

#include "core/error.hpp"
#include "stream/futex.hpp"
#include "stream/scheduler.hpp"

namespace hirgen_cpu {
namespace {

using namespace std::chrono_literals;

// A worker that sleeps on a word checks its task again after this time even if it is not woken: a
// plain copy may write the word without waking sleepers.
constexpr auto kIdlePoll = 5ms;
// With a seed: all held-back work may run once the host has made no call for this time. If a busy
// machine suspends the host thread for longer, the order also depends on the machine.
constexpr auto kHostIdle = 50ms;

/// Runs one step; returns whether the task is complete. A failure becomes the fault of the process.
/// After a fault, all tasks count as complete without running.
bool run_step(Task& task) {
  if (fault() != cudaSuccess) return true;
  try {
    return task.step();
  } catch (const Failure& failure) {
    set_fault(failure.code, failure.text);
  } catch (const std::exception& error) {
    set_fault(cudaErrorLaunchFailure, error.what());
  }
  return true;
}

}  // namespace

void Scheduler::work(const std::shared_ptr<Stream>& stream) {
  while (Task* task = next_task(stream)) {
    ordered_after(task);
    // The legacy default stream also comes after the complete work of blocking streams that are
    // idle or destroyed, for which it queues no wait.
    if (stream->legacy_default) ordered_after(&blocking_work_);
    bool complete = run_step(*task);
    if (complete) ordered_before(stream.get());
    if (complete && stream->blocking()) ordered_before(&blocking_work_);
    finish_step(*stream, complete);
  }
}

Task* Scheduler::next_task(const std::shared_ptr<Stream>& stream) {
  QuietLock lock(mutex_);
  while (!stream->granted_) {
    if (stream->queue_.empty() && stream->closing_) {
      std::erase(streams_, stream);
      return nullptr;
    }
    sleep(lock, *stream);
  }
  stream->granted_ = false;
  stream->running_ = true;
  return stream->queue_.front().task.get();
}

void Scheduler::finish_step(Stream& stream, bool complete) {
  Stream::Entry finished;  // destroyed outside the lock
  QuietLock lock(mutex_);
  stream.running_ = false;
  if (active_ == &stream) active_ = nullptr;
  if (complete) {
    finished = std::move(stream.queue_.front());
    stream.queue_.pop_front();
    ++stream.completed_;
    release_hosts();
  }
  dispatch();
  host_.notify_all();
}

void Scheduler::sleep(QuietLock& lock, Stream& stream) {
  if (stream.queue_.empty()) return stream.wake_.wait(lock.get());
  WaitHint hint = stream.queue_.front().task->hint();
  dispatch();
  if (stream.granted_) return;
  bool blocked = !runnable(stream);
  if (!blocked && order_.fifo()) return;  // the task became ready after dispatch(): dispatch again
  if (blocked && hint.word != nullptr) {
    lock.get().unlock();
    futex_wait(hint.word, hint.seen, kIdlePoll);
    lock.get().lock();
  } else if (order_.fifo()) {
    stream.wake_.wait(lock.get());
  } else {
    stream.wake_.wait_for(lock.get(), kHostIdle);
  }
  if (allowance_ == 0 && Clock::now() - last_call_ > kHostIdle) allowance_ = kUnlimited;
}

}  // namespace hirgen_cpu
