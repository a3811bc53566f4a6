// Times work that every rank issues to a stream at the same time.
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
  /// Microseconds of one of many runs of `issue`, back to back on stream(), which all of its work
  /// joins. It is the median of a few samples that take `seconds` each, on the slowest rank. The
  /// host issues ahead of the device, so that its time does not show. Collective: all ranks make
  /// the same calls. At least a nanosecond.
  double device(const Issue& issue, double seconds = 0.02);
  /// Microseconds of the host for issuing one of many runs. Collective.
  double host(const Issue& issue);

 private:
  /// The number of runs that take `seconds`, the same on every rank.
  int64_t runs_within(const Issue& issue, double seconds);
  /// Seconds of one run, the mean of `runs` runs, on this rank.
  double sample(const Issue& issue, int64_t runs);

  Context& context_;
  double issuing_ = 0;  ///< seconds in which the host issued one of the last runs
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace hirgen
