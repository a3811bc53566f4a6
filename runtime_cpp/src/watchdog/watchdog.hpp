// Bounds every wait of a rank, and ends all ranks when one of them fails. A thread that
// never calls the device: it hears from the other ranks through rank 0, and from the
// device through DeviceMonitor.
//
// When something fails anywhere, rank 0 collects what the ranks saw, decides which rank is
// at fault (judge() in progress.hpp), and tells all; each prints one report and exits. The
// culprit exits with its own code, every other rank with kPeer. If rank 0 itself is lost,
// each rank finds that out alone. From the fault to the last exit it takes at most the
// deadline and five seconds.
//
// A process that survives (ContextOptions::survives) does not exit: the ranks are given up. The
// failure is known first, so that nobody takes what comes then for a result; then the host is
// called back and the device let go (Rescue). A host that does not come back ends the process.
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
  /// `interrupt` ends what the host waits for on the other ranks, from another thread.
  Watchdog(const ContextOptions& options, std::vector<Socket> control, DeviceMonitor& monitor,
           std::function<void()> interrupt);
  /// Says goodbye, so that the other ranks do not take the end for a death, and stops.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The host works on something that must issue a statement within every deadline, until
  /// end_work(): it makes or frees resources, or issues a call.
  void begin_work();
  void end_work();

  /// The host starts to issue the next call; returns its number, from 1.
  int64_t begin_call();
  /// It has issued the call.
  void call_issued();

  /// Context::fail().
  void fail(const Error& error);
  /// Whether fail() was called, or another rank failed and this process survives: peers are gone,
  /// the device is in an unknown state.
  bool failed() const { return failed_.load(); }

  /// Context::failure().
  std::optional<Error> failure() const;

  /// While it lives, this thread uses the rank's resources, and is called back when the ranks are
  /// given up: statements throw, and the process ends if it stays.
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

  /// After a failure: waits for what is under way on the device to end; false if it does not, or
  /// is not known to, so that nothing may be freed.
  bool let_go();

 private:
  void run();
  void listen();
  void observe();
  void observe_host();
  void accuse(Code code, const std::string& text, int suspect = -1);
  void update_self();
  /// Decides once there is something to decide; true once there is a verdict.
  bool decide();
  std::optional<Verdict> decide_alone();
  /// Prints and exits, or hands the verdict to the host thread that waits in fail().
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

  // Written by the host thread.
  std::atomic<int64_t> begun_{0};
  std::atomic<int64_t> issued_{0};
  std::atomic<uint64_t> statements_at_begin_{0};
  std::atomic<int> working_{0};
  std::atomic<uint64_t> work_items_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> given_up_{false};
  // A rescue may outlive this.
  const std::shared_ptr<std::atomic<int>> inside_ = std::make_shared<std::atomic<int>>(0);

  // Of the watchdog's thread.
  std::vector<RankView> ranks_;
  std::vector<Clock::time_point> heard_;
  std::vector<Failure> failures_;  ///< on rank 0 of all ranks, elsewhere of this one
  std::optional<Verdict> verdict_;
  std::optional<Clock::time_point> first_sign_;  ///< that something failed
  Clock::time_point next_heartbeat_ = Clock::now();
  double longest_gap_ = 0;  ///< seconds during which this thread did not run
  uint64_t host_key_ = 0;   ///< changes whenever the host does something
  Clock::time_point host_moved_ = Clock::now();

  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable concluded_wake_;
  std::vector<Failure> host_failures_;  ///< from fail(), not taken up yet
  std::optional<Error> failure_;
  std::shared_ptr<Rescue> rescue_;
  bool concluded_ = false;
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace hirgen
