// One time axis for the traces of all ranks: nanoseconds of rank 0's steady clock.
//
// Processes of one node have that clock in common, unless containers set it apart. What has to be
// found out is how a GPU's timer lies to it, and how the clocks of other nodes lie to rank 0's.
// Both are found alike: something happens there between two moments of the clock here, which bounds
// the difference from both sides. It is done many times; the difference lies within all of the
// bounds, and the error is half of what they leave.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// What the difference between two clocks can be, in nanoseconds.
struct ClockBounds {
  double low, high;

  ClockBounds();
  void narrow(double least, double most);
  double middle() const { return low / 2 + high / 2; }
  double error() const;
};

/// The time of events on this rank's device.
class DeviceClock {
 public:
  /// Aligns the clocks for the first time. `stream` is idle, and so is the device.
  DeviceClock(Context& context, cudaStream_t stream);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Aligns them again, after what is to be timed: timers drift.
  void align();
  /// When an event that is complete happened, in nanoseconds of this node's steady clock.
  int64_t time_of(cudaEvent_t event) const;
  /// By how much that may be wrong, nanoseconds.
  double error() const;

 private:
  struct Alignment {
    double at;  // nanoseconds since base_
    ClockBounds bounds;
  };
  double since_base(cudaEvent_t event) const;

  Context& context_;
  cudaStream_t stream_;
  cudaEvent_t base_ = nullptr, probe_ = nullptr;
  std::vector<Alignment> alignments_;
};

/// Rank 0's steady clock minus this host's; collective over all ranks. Exactly zero on rank 0's
/// host.
ClockBounds offset_to_rank_zero(Context& context);

}  // namespace hirgen
