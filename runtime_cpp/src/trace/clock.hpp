// One time axis for the traces of all ranks: nanoseconds of rank 0's steady clock.
//
// The processes of a node share one steady clock, unless containers separate it. Two differences
// must be measured: between a GPU's timer and its node's clock, and between the clocks of other
// nodes and rank 0's. The method is the same: an event on one clock happens between two moments of
// the other, which gives a lower and an upper bound. Many repetitions narrow the bounds. The error
// is half of the interval that remains.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// The bounds of the difference between two clocks, in nanoseconds; infinite at first.
struct ClockBounds {
  double low, high;

  ClockBounds();
  void narrow(double least, double most);
  double middle() const { return low / 2 + high / 2; }
  double error() const;
};

/// The times of events on this rank's device.
class DeviceClock {
 public:
  /// Aligns the clocks for the first time. `stream` and the device must be idle.
  DeviceClock(Context& context, cudaStream_t stream);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Aligns the clocks again after the timed work, because timers drift.
  void align();
  /// The time of a complete event, in nanoseconds of this node's steady clock.
  int64_t time_of(cudaEvent_t event) const;
  /// The largest error of an alignment, plus the resolution of event times; in nanoseconds.
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

/// Rank 0's steady clock minus this rank's; collective over all ranks. Exactly zero if both ranks
/// have the same clock.
ClockBounds offset_to_rank_zero(Context& context);

}  // namespace hirgen
