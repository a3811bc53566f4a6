// Times what is issued to a stream of every rank at once.
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
  /// joins: on the slowest rank, the median of a few samples that take `seconds` each. The host has
  /// issued them before the first one starts, so that what it takes does not show. Collective: all
  /// ranks make the same calls. Not less than a nanosecond.
  double device(const Issue& issue, double seconds = 0.02);
  /// Microseconds that the host takes to issue one of many. Collective, likewise.
  double host(const Issue& issue);

 private:
  /// How many runs take that long, the same on every rank.
  int64_t runs_within(const Issue& issue, double seconds);
  /// Seconds of one of some runs, on this rank.
  double sample(const Issue& issue, int64_t runs);

  Context& context_;
  double issuing_ = 0;  ///< seconds that the host took for one of the last runs
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace hirgen
