// Watches the device from a separate thread: which calls and events are complete, and whether a
// communicator failed. The watchdog's thread reads the results or asks for them with a time limit.
// It never queries the device itself, so a device call that never returns cannot block it.
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
  int64_t count = 0;             ///< number of the statement's events
  std::vector<int64_t> indices;  ///< indices of the incomplete events, ascending
  int64_t first = 0;             ///< index of the incomplete event that the host recorded first
  uint64_t use = 0;              ///< when the host recorded `first` (EventClock::uses)
};

/// The oldest incomplete call, and its incomplete events.
struct OldestCall {
  int64_t call = 0;
  std::vector<Incomplete> events;  ///< one for each statement with incomplete events; may be empty
};

/// The statement that a call waits for: the one whose incomplete event the host recorded first.
/// `events` must not be empty.
Incomplete first_incomplete(const std::vector<Incomplete>& events);

class DeviceMonitor {
 public:
  explicit DeviceMonitor(int device);
  /// Stops the thread, and destroys the events of calls and the stream for flags.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  void watch(const Events& events);
  void watch(ncclComm_t comm);
  void watch(std::shared_ptr<FlagWaits> waits);
  void watch(cudaStream_t stream);
  void forget(cudaStream_t stream);
  /// Forgets events, streams and communicators before they are destroyed.
  void forget_all();

  /// Called by a rescue, on the rescue's thread. Returns the communicators, which the rescue
  /// aborts; the monitor stops querying them.
  std::vector<ncclComm_t> take_comms();
  /// Sets the flags in this rank's memory that calls wait for, so that the waits end.
  void release_flags();
  /// Whether no call and no watched stream has work left. Failed ones count as done.
  bool idle() const;

  /// An event to record after a call; events are reused.
  cudaEvent_t take_event();
  /// Notes that a call was issued, with `event` recorded after it. With a null event the call
  /// counts as complete as soon as all earlier calls are.
  void call_issued(cudaEvent_t event);

  /// Whether all issued calls are complete.
  bool all_completed() const;
  /// The number of complete calls.
  int64_t completed() const;
  /// The seconds for which the oldest incomplete call has been able to run: since it was issued or
  /// since the call before it completed, whichever is later. 0 if all calls are complete.
  double oldest_seconds() const;
  /// The time at which a call last completed; before the first one, the time at which the monitor
  /// was made.
  Clock::time_point last_completion() const;
  /// The first failure of the device or of a communicator, or of set_failure(); empty if none.
  std::string failure() const;
  /// Notes a failure, unless one is known already.
  void set_failure(const std::string& text);

  /// Queries the oldest incomplete call on the device. Waits for the answer for at most `seconds`;
  /// nullopt if there is none by then.
  std::optional<OldestCall> ask_oldest_call(double seconds);
  /// Queries the flags that `call`, which is incomplete, waits for and that peers have not set.
  /// Waits like ask_oldest_call().
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

  const int device_;
  mutable std::mutex mutex_;  ///< guards the members up to failure_; not held in device calls
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
  cudaStream_t flag_stream_ = nullptr;  ///< copies flags; created with the first FlagWaits
  OldestCall oldest_;
  std::vector<MissingFlags> missing_;
  int64_t completed_ = 0;
  Clock::time_point last_completion_ = Clock::now();
  std::string failure_;
  /// Held while communicators are queried; forget_all() and take_comms() wait for it.
  std::mutex comms_in_use_;
  std::thread thread_;
};

}  // namespace hirgen
