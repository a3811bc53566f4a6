// Lets go of all that a rank waits for once the ranks are given up, in a process that goes on:
// its flags are set by the host, its communicators aborted. On threads of its own, since any call
// of CUDA or NCCL may never return here.
#pragma once

#include <nccl.h>

#include <atomic>
#include <memory>

#include "watchdog/device_monitor.hpp"

namespace hirgen {

class Rescue : public std::enable_shared_from_this<Rescue> {
 public:
  /// `inside` counts the host threads that use the rank's resources. They are expected to leave,
  /// and no new one to enter. `monitor` outlives a rescue that is not done.
  Rescue(int device, DeviceMonitor& monitor, std::shared_ptr<const std::atomic<int>> inside)
      : device_(device), monitor_(monitor), inside_(std::move(inside)) {}

  void start();
  /// Waits at most `seconds` until nothing of the rank's is under way; false if something is. Then
  /// the rescue ends all the same, and nothing may be freed.
  bool finish(double seconds);

 private:
  void run();
  void use_device() const;
  void abort(ncclComm_t comm);
  bool is_let_go() const;

  const int device_;
  DeviceMonitor& monitor_;
  const std::shared_ptr<const std::atomic<int>> inside_;
  std::atomic<int> aborting_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
};

}  // namespace hirgen
