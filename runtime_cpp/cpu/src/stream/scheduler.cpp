#include "stream/scheduler.hpp"

#include <algorithm>
#include <thread>

#include "core/error.hpp"

namespace hirgen_cpu {
namespace {

using namespace std::chrono_literals;

// With a seed, the host and the other streams go on if a step takes longer than this. The step may
// be a host function that waits for the host or for another stream.
constexpr auto kStepLimit = 100ms;

uint64_t process_seed() {
  uint64_t seed = Order::seed_from_environment();
  if (seed == 0) return 0;
  int device = 0;
  cudaGetDevice(&device);  // with one seed, ranks have different orders
  return seed * 1000003 + static_cast<uint64_t>(device) + 1;
}

}  // namespace

Scheduler& Scheduler::get() {
  static Scheduler& scheduler = *new Scheduler;  // never destroyed: workers outlive main()
  return scheduler;
}

Scheduler::Scheduler() : order_(process_seed()) {}

std::shared_ptr<Stream> Scheduler::create(int device, unsigned flags, int priority,
                                          bool legacy_default) {
  std::shared_ptr<Stream> stream;
  {
    QuietLock lock(mutex_);
    stream = std::make_shared<Stream>(device, flags, priority, next_stream_++, legacy_default);
    streams_.push_back(stream);
  }
  std::thread([this, stream] { work(stream); }).detach();
  return stream;
}

void Scheduler::close(const std::shared_ptr<Stream>& stream) {
  QuietLock lock(mutex_);
  stream->closing_ = true;
  stream->wake_.notify_one();
}

uint64_t Scheduler::push(Stream& stream, std::unique_ptr<Task> task) {
  ordered_before(task.get());
  QuietLock lock(mutex_);
  stream.queue_.push_back({std::move(task), next_age_++});
  uint64_t position = ++stream.submitted_;
  submitter_ = std::this_thread::get_id();
  // Wake the worker even if the task is not ready. If the task is now the first and has a hint(),
  // the worker must sleep on the word of the hint instead of wake_.
  stream.wake_.notify_one();
  if (order_.fifo()) {
    dispatch();
  } else {
    allow(order_.burst());
    pump(lock);
  }
  return position;
}

uint64_t Scheduler::submitted(const Stream& stream) {
  QuietLock lock(mutex_);
  return stream.submitted_;
}

bool Scheduler::done(const Stream& stream, uint64_t position) {
  bool result;
  {
    QuietLock lock(mutex_);
    result = done_locked(stream, position);
  }
  if (result) ordered_after(&stream);
  return result;
}

bool Scheduler::Waiter::done() const {
  return std::all_of(targets.begin(), targets.end(),
                     [](const auto& target) { return done_locked(*target.first, target.second); });
}

void Scheduler::block(Waiter& waiter) {
  {
    QuietLock lock(mutex_);
    if (!waiter.done()) {
      waiters_.push_back(&waiter);
      allow(kUnlimited);
      dispatch();
      while (!waiter.done()) host_.wait(lock.get());
    }
  }
  for (const auto& target : waiter.targets) ordered_after(target.first.get());
}

/// Removes the waiters whose wait has ended. When the last waiter is removed, held-back work stops
/// at once, even if the waiting host threads wake up only later.
void Scheduler::release_hosts() {
  if (std::erase_if(waiters_, [](const Waiter* waiter) { return waiter->done(); }) > 0) allow(0);
}

void Scheduler::wait(const std::shared_ptr<const Stream>& stream, uint64_t position) {
  Waiter waiter{{{stream, position}}};
  block(waiter);
}

void Scheduler::wait_all(int device) {
  Waiter waiter;
  {
    QuietLock lock(mutex_);
    for (const auto& stream : streams_) {
      if (stream->device == device) waiter.targets.emplace_back(stream, stream->submitted_);
    }
  }
  block(waiter);
}

void Scheduler::host_polls() {
  QuietLock lock(mutex_);
  if (order_.fifo() || submitter_ != std::this_thread::get_id()) return;
  allow(order_.poll_burst());
  pump(lock);
}

std::vector<std::shared_ptr<Stream>> Scheduler::blocking_streams(int device) {
  QuietLock lock(mutex_);
  std::vector<std::shared_ptr<Stream>> found;
  for (const auto& stream : streams_) {
    bool pending = stream->completed_ != stream->submitted_;
    if (stream->device == device && stream->blocking() && pending) found.push_back(stream);
  }
  return found;
}

void Scheduler::allow(int steps) {
  last_call_ = Clock::now();
  allowance_ = waiters_.empty() ? steps : kUnlimited;
}

/// Starts the allowed steps and blocks the host thread until they have run. So the seed, and not
/// the load of the machine, decides which steps have run when a call returns. Stops waiting if a
/// step exceeds kStepLimit, and does not block while another host thread waits.
void Scheduler::pump(QuietLock& lock) {
  dispatch();
  while (active_ != nullptr && allowance_ != kUnlimited) {
    auto limit = active_since_ + kStepLimit;
    if (host_.wait_until(lock.get(), limit) == std::cv_status::timeout) return;
  }
}

bool Scheduler::runnable(const Stream& stream) const {
  if (stream.queue_.empty() || stream.granted_ || stream.running_) return false;
  return fault() != cudaSuccess || stream.queue_.front().task->ready();
}

void Scheduler::dispatch() { order_.fifo() ? dispatch_all() : dispatch_one(); }

void Scheduler::dispatch_all() {
  for (const auto& stream : streams_) {
    if (!runnable(*stream)) continue;
    stream->granted_ = true;
    stream->wake_.notify_one();
  }
}

void Scheduler::dispatch_one() {
  if (allowance_ == 0) return;
  if (active_ != nullptr && Clock::now() - active_since_ < kStepLimit) return;
  std::vector<Candidate> candidates;
  std::vector<Stream*> choices;
  for (const auto& stream : streams_) {
    if (!runnable(*stream)) continue;
    candidates.push_back({stream->id, stream->queue_.front().age});
    choices.push_back(stream.get());
  }
  if (candidates.empty()) return;
  Stream& chosen = *choices[order_.pick(candidates)];
  if (allowance_ != kUnlimited) --allowance_;
  active_ = &chosen;
  active_since_ = Clock::now();
  chosen.granted_ = true;
  chosen.wake_.notify_one();
}

}  // namespace hirgen_cpu
