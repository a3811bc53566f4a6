// Streams and the scheduler. Each stream has a queue and a worker thread; one scheduler serves all
// streams of the process.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/annotate.hpp"
#include "stream/order.hpp"
#include "stream/task.hpp"

namespace hirgen_cpu {

/// A queue of tasks that run one after another. The position of a task is the number of tasks that
/// were submitted up to and including it. A stream has reached a position when that number of its
/// tasks is complete.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(int device, unsigned flags, int priority, uint64_t id, bool legacy_default)
      : device(device), flags(flags), priority(priority), id(id), legacy_default(legacy_default) {}

  const int device;
  const unsigned flags;
  const int priority;
  const uint64_t id;
  const bool legacy_default;  ///< whether it is the legacy default stream of its device
  /// Whether the stream and the legacy default stream wait for each other.
  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }

 private:
  friend class Scheduler;
  struct Entry {
    std::unique_ptr<Task> task;
    uint64_t age;
  };
  std::deque<Entry> queue_;
  uint64_t submitted_ = 0, completed_ = 0;
  bool granted_ = false, running_ = false, closing_ = false;
  std::condition_variable wake_;
};

/// Decides when each stream's next step runs. Without a seed, steps run as soon as they can, on all
/// streams at the same time. With a seed, steps run one after another, in the order that Order
/// picks; if a step takes more than 100 ms, the next one starts before it ends. Most work is held
/// back until the host waits or makes no call for a while. So the seed determines the order, apart
/// from the effects of other processes, other host threads and slow steps.
class Scheduler {
 public:
  static Scheduler& get();

  /// Creates a stream and its worker thread.
  std::shared_ptr<Stream> create(int device, unsigned flags, int priority,
                                 bool legacy_default = false);
  /// Lets the stream's thread end when its queue is empty. Nothing may be pushed afterwards.
  void close(const std::shared_ptr<Stream>& stream);

  /// Appends a task; returns its position.
  uint64_t push(Stream& stream, std::unique_ptr<Task> task);
  /// Returns the position of the last task submitted so far; 0 if there is none.
  uint64_t submitted(const Stream& stream);
  bool done(const Stream& stream, uint64_t position);
  /// done() without locking, for Task::ready(), which is called with the lock held.
  static bool done_locked(const Stream& stream, uint64_t position) {
    return stream.completed_ >= position;
  }

  /// Blocks the host thread until the stream has reached the position.
  void wait(const std::shared_ptr<const Stream>& stream, uint64_t position);
  /// Blocks the host thread until all work that was submitted to a device before this call is
  /// complete.
  void wait_all(int device);
  /// Notes that the host queried a result that was not ready: with a seed, a few steps may then
  /// run. Ignores threads other than the last one that submitted work, because the polling of a
  /// watchdog must not change the order.
  void host_polls();

  /// Returns the blocking streams of a device that have incomplete tasks.
  std::vector<std::shared_ptr<Stream>> blocking_streams(int device);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kUnlimited = std::numeric_limits<int>::max();
  Scheduler();
  void work(const std::shared_ptr<Stream>& stream);
  Task* next_task(const std::shared_ptr<Stream>& stream);
  void sleep(QuietLock& lock, Stream& stream);
  void finish_step(Stream& stream, bool complete);
  void dispatch();
  void dispatch_all();
  void dispatch_one();
  bool runnable(const Stream& stream) const;
  void allow(int steps);
  void pump(QuietLock& lock);
  void release_hosts();

  std::mutex mutex_;
  std::condition_variable host_;
  std::vector<std::shared_ptr<Stream>> streams_;
  uint64_t next_stream_ = 0, next_age_ = 0;
  Order order_;
  const Stream* active_ = nullptr;  ///< with a seed: the stream whose step runs; null: none
  Clock::time_point active_since_;
  char blocking_work_ = 0;  ///< token of annotate.hpp, for complete tasks of blocking streams
  int allowance_ = 0;       ///< with a seed: the number of steps that may still start
  /// A host thread that waits until each of some streams has reached a position.
  struct Waiter {
    std::vector<std::pair<std::shared_ptr<const Stream>, uint64_t>> targets;
    bool done() const;
  };
  void block(Waiter& waiter);
  std::vector<const Waiter*> waiters_;
  std::thread::id submitter_;  ///< the host thread that pushed last
  Clock::time_point last_call_ = Clock::now();
};

}  // namespace hirgen_cpu
