// Bounds every wait of a rank, and ends all ranks when one of them fails. Its thread never calls
// the device. It exchanges messages with the other ranks through rank 0, and gets the state of the
// device from DeviceMonitor.
//
// When something fails anywhere, rank 0 collects the reports of the ranks, decides which rank is at
// fault (judge() in progress.hpp), and informs all ranks. Each prints one report and exits, or
// returns from fail() if the error is its own. The culprit exits with the code of its failure,
// every other rank with kPeer; without a culprit, all exit with kTimeout. If rank 0 itself is lost,
// each rank notices that alone. From the fault to the last exit it takes at most the deadline and
// five seconds.
//
// A process that survives (ContextOptions::survives) does not exit, but gives up the ranks. It
// publishes the failure first, so that the host program does not take incomplete data for results.
// Then the next statement of each host thread throws, and Rescue ends the device's waits. If a host
// thread does not leave the program's code in time, the process ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hirgen/context.hpp"
#include "watchdog/control_channel.hpp"
#include "watchdog/device_monitor.hpp"
#include "watchdog/progress.hpp"
#include "watchdog/rescue.hpp"

namespace hirgen {

class Watchdog {
 public:
  /// When the ranks are given up, the watchdog's thread calls `interrupt`, which ends the host's
  /// waits for other ranks.
  Watchdog(const ContextOptions& options, std::vector<Socket> control, DeviceMonitor& monitor,
           std::function<void()> interrupt);
  /// Stops the thread. If no rank has failed, it says goodbye, so that the other ranks do not
  /// report this rank as dead.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Begins work that ends with end_work(): making or freeing resources, or issuing a call. During
  /// work, the host must begin a statement at least every timeout_seconds.
  void begin_work();
  void end_work();

  /// Notes that the host starts to issue the next call; returns its number, from 1.
  int64_t begin_call();
  /// Notes that the host has issued the call.
  void call_issued();

  /// Implements Context::fail(): passes the error to the watchdog's thread, and waits for at most 4
  /// s until that thread has concluded.
  void fail(const Error& error);
  /// Whether fail() was called, or another rank failed and this process survives. Then peers are
  /// gone and the state of the device is unknown.
  bool failed() const { return failed_.load(); }

  /// Implements Context::failure().
  std::optional<Error> failure() const;

  /// Marks that this thread uses the rank's resources, for the lifetime of the object. After the
  /// ranks are given up, the thread's next statement throws, and the process ends if the thread
  /// stays.
  class Inside {
   public:
    explicit Inside(Watchdog& watchdog);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::atomic<int>& inside_;
    const std::atomic<bool>* const outer_;
  };

  /// After a failure: waits at most two seconds for the device's work to end. Returns false if it
  /// does not end, or if the process does not survive; then resources must not be freed.
  bool let_go();

 private:
  void run();
  void listen();
  void observe();
  void observe_host();
  void accuse(Code code, const std::string& text, int suspect = -1);
  void update_self();
  /// Decides on the culprit if there is a sign of a failure. Returns whether there is a verdict.
  bool decide();
  std::optional<Verdict> decide_alone();
  /// Prints and exits, gives the failure to the host thread that waits in fail(), or, in a process
  /// that survives, gives up the ranks.
  void conclude();
  void give_up(const Error& error);
  void await_host();
  [[noreturn]] void end_process(const std::string& text);
  Error outcome(const Failure* own) const;
  void announce(const Error& error) const;
  void settle(const Error& error);
  std::string report() const;
  const Failure* own_fault() const;

  const ContextOptions options_;
  DeviceMonitor& monitor_;
  ControlChannel channel_;
  const std::function<void()> interrupt_;
  int wake_fd_;

  // Host threads write these members, except given_up_, which only the watchdog's thread writes.
  // The watchdog's thread also writes failed_.
  std::atomic<int64_t> begun_{0};
  std::atomic<int64_t> issued_{0};
  std::atomic<uint64_t> statements_at_begin_{0};
  std::atomic<int> working_{0};
  std::atomic<uint64_t> work_items_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> given_up_{false};
  // A rescue may outlive the watchdog.
  const std::shared_ptr<std::atomic<int>> inside_ = std::make_shared<std::atomic<int>>(0);

  // Only the watchdog's thread uses these members.
  std::vector<RankView> ranks_;
  std::vector<Clock::time_point> heard_;
  std::vector<Failure> failures_;  ///< on rank 0 the failures of all ranks, else of this rank
  std::optional<Verdict> verdict_;
  std::optional<Clock::time_point> first_sign_;  ///< time of the first sign of a failure
  Clock::time_point next_heartbeat_ = Clock::now();
  double longest_gap_ = 0;  ///< longest time between two rounds of this thread, in seconds
  uint64_t host_key_ = 0;   ///< changes whenever the host makes progress
  Clock::time_point host_moved_ = Clock::now();

  mutable std::mutex mutex_;  ///< guards the members below, up to stop_
  std::condition_variable concluded_wake_;
  std::vector<Failure> host_failures_;  ///< from fail(), not yet read by the watchdog's thread
  std::optional<Error> failure_;
  std::shared_ptr<Rescue> rescue_;
  bool concluded_ = false;
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace hirgen
