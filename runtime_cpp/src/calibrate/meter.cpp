#include "calibrate/meter.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bootstrap/rendezvous.hpp"
#include "driver/report.hpp"
#include "hirgen/error.hpp"
#include "hirgen/kernels.hpp"

namespace hirgen {

namespace {

constexpr const char* kMeter = "calibrate";
constexpr int kSamples = 5;
constexpr int64_t kLeastRuns = 3;
constexpr int64_t kMostRuns = 200;   // more might fill the stream's queue and block the host
constexpr double kMostAhead = 0.02;  // seconds that the host issues ahead
constexpr double kLeastMicroseconds = 1e-3;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Meter::Meter(Context& context) : context_(context) {
  HG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), kMeter);
  HG_CHECK(cudaEventCreate(&begin_), kMeter);
  HG_CHECK(cudaEventCreate(&end_), kMeter);
}

Meter::~Meter() {
  static_cast<void>(cudaEventDestroy(begin_));
  static_cast<void>(cudaEventDestroy(end_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

double Meter::sample(const Issue& issue, int64_t runs) {
  const double ahead = std::min(1.2 * issuing_ * static_cast<double>(runs), kMostAhead);
  context_.rendezvous().barrier("calibrate: sample");
  launch_delay(static_cast<int64_t>(ahead * 1e6) + 10, stream_, kMeter);
  HG_CHECK(cudaEventRecord(begin_, stream_), kMeter);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < runs; ++i) issue();
  issuing_ = since(start) / static_cast<double>(runs);
  HG_CHECK(cudaEventRecord(end_, stream_), kMeter);
  context_.synchronize(stream_);
  float milliseconds = 0;
  HG_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_), kMeter);
  return static_cast<double>(milliseconds) / 1e3 / static_cast<double>(runs);
}

int64_t Meter::runs_within(const Issue& issue, double seconds) {
  sample(issue, 1);  // the first run loads kernels and libraries
  const double one = context_.rendezvous().max(sample(issue, kLeastRuns), "calibrate: first runs");
  const double runs = seconds / std::max(one, kLeastMicroseconds / 1e6);
  return std::clamp(static_cast<int64_t>(std::min(runs, 1e9)), kLeastRuns, kMostRuns);
}

double Meter::device(const Issue& issue, double seconds) {
  const int64_t runs = runs_within(issue, seconds);
  std::vector<double> samples;
  samples.reserve(kSamples);
  for (int i = 0; i < kSamples; ++i) samples.push_back(sample(issue, runs));
  const double mine = std::max(median(samples) * 1e6, kLeastMicroseconds);
  return context_.rendezvous().max(mine, "calibrate: slowest rank");
}

double Meter::host(const Issue& issue) {
  sample(issue, kLeastRuns);
  std::vector<double> samples;
  samples.reserve(kSamples);
  for (int i = 0; i < kSamples; ++i) {
    constexpr int64_t kRuns = 100;  // few enough to fit into the streams' queues
    context_.rendezvous().barrier("calibrate: host");
    const auto start = std::chrono::steady_clock::now();
    for (int64_t k = 0; k < kRuns; ++k) issue();
    samples.push_back(since(start) / static_cast<double>(kRuns));
    context_.synchronize(stream_);
  }
  const double mine = std::max(median(samples) * 1e6, kLeastMicroseconds);
  return context_.rendezvous().max(mine, "calibrate: slowest host");
}

}  // namespace hirgen
