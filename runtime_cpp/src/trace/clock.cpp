#include "trace/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"
#include "ipc/peer_access.hpp"
#include "trace/recorder.hpp"

namespace hirgen {

namespace {

constexpr const char* kClock = "trace clock";
constexpr int kDeviceRounds = 200;
constexpr int kNodeRounds = 50;
// The resolution of event times in nanoseconds, as CUDA documents it.
constexpr double kEventResolution = 500;

// Identifies the time namespace: a container can have a separate steady clock.
std::string time_namespace() {
  char name[64] = "";
  const ssize_t length = readlink("/proc/self/ns/time", name, sizeof(name));
  return {name, static_cast<size_t>(std::max(length, ssize_t{0}))};
}

}  // namespace

ClockBounds::ClockBounds()
    : low(-std::numeric_limits<double>::infinity()),
      high(std::numeric_limits<double>::infinity()) {}

void ClockBounds::narrow(double least, double most) {
  low = std::max(low, least);
  high = std::min(high, most);
}

// Times are rounded, so `low` can exceed `high` a little: hence the absolute value.
double ClockBounds::error() const { return std::abs(high - low) / 2; }

DeviceClock::DeviceClock(Context& context, cudaStream_t stream)
    : context_(context), stream_(stream) {
  HG_CHECK(cudaEventCreate(&base_), kClock);
  HG_CHECK(cudaEventCreate(&probe_), kClock);
  HG_CHECK(cudaEventRecord(base_, stream_), kClock);
  context_.synchronize(stream_);
  align();
}

DeviceClock::~DeviceClock() {
  static_cast<void>(cudaEventDestroy(base_));
  static_cast<void>(cudaEventDestroy(probe_));
}

void DeviceClock::align() {
  Alignment found;
  for (int i = 0; i < kDeviceRounds; ++i) {
    const auto before = static_cast<double>(steady_nanoseconds());
    HG_CHECK(cudaEventRecord(probe_, stream_), kClock);
    context_.synchronize(stream_);
    const auto after = static_cast<double>(steady_nanoseconds());
    const double device = since_base(probe_);
    found.bounds.narrow(before - device, after - device);
    found.at = device;
  }
  alignments_.push_back(found);
}

double DeviceClock::since_base(cudaEvent_t event) const {
  float milliseconds = 0;
  HG_CHECK(cudaEventElapsedTime(&milliseconds, base_, event), kClock);
  return static_cast<double>(milliseconds) * 1e6;
}

// Adds the offset of the clocks at the event, interpolated or extrapolated linearly from the first
// and the last alignment.
int64_t DeviceClock::time_of(cudaEvent_t event) const {
  const double device = since_base(event);
  const Alignment& first = alignments_.front();
  const Alignment& last = alignments_.back();
  double offset = first.bounds.middle();
  if (last.at > first.at) {
    offset += (last.bounds.middle() - offset) * (device - first.at) / (last.at - first.at);
  }
  return std::llround(device + offset);
}

double DeviceClock::error() const {
  double most = 0;
  for (const Alignment& alignment : alignments_) most = std::max(most, alignment.bounds.error());
  return most + kEventResolution;
}

ClockBounds offset_to_rank_zero(Context& context) {
  const auto rank = static_cast<size_t>(context.rank());
  const std::string mine = locations_of_all(context)[rank].boot + " " + time_namespace();
  const std::vector<std::string> clocks = context.rendezvous().allgather(mine, kClock);
  const bool one_clock = std::all_of(clocks.begin(), clocks.end(),
                                     [&](const auto& clock) { return clock == clocks.front(); });
  ClockBounds bounds;
  for (int i = 0; i < kNodeRounds && !one_clock; ++i) {
    const auto before = static_cast<double>(steady_nanoseconds());
    context.rendezvous().gather("", kClock);
    const Writer now = Writer().put(static_cast<double>(steady_nanoseconds()));
    const double there = Reader(context.rendezvous().broadcast(now.bytes(), kClock)).get<double>();
    bounds.narrow(there - static_cast<double>(steady_nanoseconds()), there - before);
  }
  if (clocks[rank] == clocks.front()) bounds.low = bounds.high = 0;
  return bounds;
}

}  // namespace hirgen
