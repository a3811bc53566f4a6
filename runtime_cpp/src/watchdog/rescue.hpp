// Ends all waits of a rank after the ranks are given up, in a process that goes on: sets the rank's
// flags and aborts its communicators. Separate threads do this, because after a failure any call of
// CUDA or NCCL may never return.
#pragma once

#include <nccl.h>

#include <atomic>
#include <memory>

#include "watchdog/device_monitor.hpp"

namespace hirgen {

class Rescue : public std::enable_shared_from_this<Rescue> {
 public:
  /// `inside` counts the host threads that use the rank's resources. The rescue is complete only
  /// after they have left; no new thread may enter. `monitor` must outlive an unfinished rescue.
  Rescue(int device, DeviceMonitor& monitor, std::shared_ptr<const std::atomic<int>> inside)
      : device_(device), monitor_(monitor), inside_(std::move(inside)) {}

  void start();
  /// Waits at most `seconds` until the rank's work is complete. Returns false if some work is left;
  /// the rescue ends then too, and the caller must not free resources.
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
