// Watches the device from a thread of its own: which calls are complete, which events are
// not, whether a communicator failed. Only this thread asks the device, so a device call
// that never returns stops nobody else; what it found out is read without waiting for it.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/socket.hpp"
#include "hirgen/context.hpp"
#include "hirgen/flag_waits.hpp"
#include "watchdog/missing_flags.hpp"

namespace hirgen {

/// The events of one statement that are not complete in a call.
struct Incomplete {
  std::string name;
  std::string where;
  int64_t count = 0;             ///< events of the statement
  std::vector<int64_t> indices;  ///< those not complete, ascending; not empty
  int64_t first = 0;             ///< the one of them that the host used first
  uint64_t use = 0;              ///< when it did (EventClock::uses)
};

/// The oldest call that is not complete, and what is not complete in it.
struct OldestCall {
  int64_t call = 0;
  std::vector<Incomplete> events;  ///< empty if all of its events are complete
};

/// What a call waits for: of all its events that are not complete, the one that comes first
/// in the program. `events` is not empty.
Incomplete first_incomplete(const std::vector<Incomplete>& events);

class DeviceMonitor {
 public:
  explicit DeviceMonitor(int device);
  /// Stops the thread, and destroys the events of calls.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  void watch(const Events& events);
  void watch(ncclComm_t comm);
  void watch(std::shared_ptr<FlagWaits> waits);
  void watch(cudaStream_t stream);
  void forget(cudaStream_t stream);
  /// Forgets events, streams and communicators: they are about to be destroyed.
  void forget_all();

  /// For a rescue, on its own thread. The communicators, which this asks no more: they are about
  /// to be aborted.
  std::vector<ncclComm_t> take_comms();
  /// Sets the flags that calls wait for.
  void release_flags();
  /// Whether no call and no watched stream has work left; what failed has none.
  bool idle() const;

  /// An event to record behind a call: a used one if there is one.
  cudaEvent_t take_event();
  /// A call was issued, with `event` recorded behind it.
  void call_issued(cudaEvent_t event);

  /// Whether all calls that were issued are complete.
  bool all_completed() const;
  /// Calls that are complete.
  int64_t completed() const;
  /// How long the oldest call that is not complete has had the device: since it was
  /// issued, or since the call before it completed. 0 if all are complete.
  double oldest_seconds() const;
  /// When the last call completed.
  Clock::time_point last_completion() const;
  /// Why the device or a communicator failed; empty if none did.
  std::string failure() const;

  /// Asks the device about the oldest call that is not complete, and waits for the answer at
  /// most `seconds`.
  std::optional<OldestCall> ask_oldest_call(double seconds);
  /// The same about the flags that peers have not set, and `call` waits for: one that
  /// is under way.
  std::optional<std::vector<MissingFlags>> ask_missing_flags(int64_t call, double seconds);

 private:
  enum class Question { kNone, kEvents, kFlags };
  struct Call {
    cudaEvent_t event;
    Clock::time_point issued;
  };
  void run();
  void poll_calls();
  void poll_comms();
  bool ask(Question question, double seconds, std::unique_lock<std::mutex>& lock);
  void answer(Question question);
  OldestCall find_events();
  OldestCall find_events_now();
  std::vector<MissingFlags> find_missing();
  void set_failure(const std::string& text);

  const int device_;
  mutable std::mutex mutex_;  ///< guards all below, never held across a device call
  std::condition_variable wake_;
  std::condition_variable answered_;
  bool stop_ = false;
  Question question_ = Question::kNone;
  int64_t asked_call_ = 0;
  std::deque<Call> calls_;
  std::vector<cudaEvent_t> free_events_;
  std::vector<Events> events_;
  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::shared_ptr<FlagWaits>> waits_;
  cudaStream_t flag_stream_ = nullptr;  ///< carries the copies of flags; made with the first waits
  OldestCall oldest_;
  std::vector<MissingFlags> missing_;
  int64_t completed_ = 0;
  Clock::time_point last_completion_ = Clock::now();
  std::string failure_;
  std::mutex comms_in_use_;  ///< held while communicators are asked; forget_all() waits for it
  std::thread thread_;
};

}  // namespace hirgen
