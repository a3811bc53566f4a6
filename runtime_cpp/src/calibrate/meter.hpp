// Times work that all ranks issue at the same time, each on a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "hirgen/context.hpp"

namespace hirgen {

class Meter {
 public:
  using Issue = std::function<void()>;

  explicit Meter(Context& context);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// Returns the device's time, in microseconds, of one of many runs of `issue`, back to back on
  /// stream(), which all work of `issue` must join. A sample takes about `seconds`, but has at
  /// least 3 and at most 200 runs. The time is the median of 5 samples, on the slowest rank, and at
  /// least a nanosecond. The host issues up to 20 ms ahead of the device, so that the host's time
  /// is usually not included. Collective: all ranks make the same calls.
  double device(const Issue& issue, double seconds = 0.02);
  /// Returns the time, in microseconds, that the host takes to issue one of many runs, on the
  /// slowest rank. Collective.
  double host(const Issue& issue);

 private:
  /// Returns the number of runs that take about `seconds`, but at least 3 and at most 200. It is
  /// the same on every rank.
  int64_t runs_within(const Issue& issue, double seconds);
  /// Returns the mean time of `runs` runs on this rank, in seconds. Collective.
  double sample(const Issue& issue, int64_t runs);

  Context& context_;
  double issuing_ = 0;  ///< mean seconds that the host took to issue one run of the last sample
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace hirgen
