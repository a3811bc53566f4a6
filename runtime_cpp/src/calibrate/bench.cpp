#include "calibrate/bench.hpp"

#include <algorithm>
#include <array>

#include "bootstrap/rendezvous.hpp"
#include "hirgen/error.hpp"
#include "hirgen/flags.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

namespace {

constexpr const char* kBench = "calibrate";
constexpr const char* kBuffer = "calibrate buffer";
constexpr double kLong = 3e3;        // microseconds: after a longer run, no larger size is run
constexpr int64_t kMost = 1 << 29;   // most bytes of a transfer
constexpr double kLeastTime = 0.05;  // microseconds: least time of an event, graph, node or copy
constexpr int64_t kSmall = 16;       // bytes of a transfer that takes only its latency

/// Returns the bytes of each buffer that this rank can afford: at most kMost and an eighth of the
/// free memory, but at least 1 MiB.
int64_t affordable() {
  size_t free = 0, total = 0;
  HG_CHECK(cudaMemGetInfo(&free, &total), kBench);
  int64_t bytes = kMost;
  while (bytes > (1 << 20) && static_cast<size_t>(bytes) > free / 8) bytes /= 2;
  return bytes;
}

}  // namespace

Bench::Bench(Context& context) : context_(context), meter_(context), peers_(context, kBench) {
  most_ = -static_cast<int64_t>(
      context.rendezvous().max(-static_cast<double>(affordable()), "calibrate: memory"));
  buffer_ = context.allocate<char>(most_, kBuffer);
  other_ = context.allocate<char>(most_, kBuffer);
  workspace_ = context.allocate(2 * kWorkspaceBytes, kBuffer);
  shared_ = &peers_.share(
      buffer_,
      {.bytes = static_cast<size_t>(most_), .transfers = 1, .name = "buffer", .where = kBuffer});
  HG_CHECK(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), kBench);
  HG_CHECK(cudaEventCreateWithFlags(&to_, cudaEventDisableTiming), kBench);
  HG_CHECK(cudaEventCreateWithFlags(&from_, cudaEventDisableTiming), kBench);
}

RateCurve Bench::curve(double latency, const Timed& time, double moved) const {
  RateCurve points;
  for (int64_t bytes = 1 << 16; bytes <= most_; bytes *= 4) {
    const double us = time(bytes);
    const double work = std::max(us - latency, us / 10);
    points.push_back(
        {static_cast<double>(bytes) * moved, static_cast<double>(bytes) * moved / work / 1e3});
    if (us > kLong) break;
  }
  return points;
}

void Bench::memory(Figures& figures) {
  const auto copy = [&](int64_t bytes) {
    return meter_.device([&] {
      HG_CHECK(cudaMemcpyAsync(other_, buffer_, static_cast<size_t>(bytes),
                               cudaMemcpyDeviceToDevice, meter_.stream()),
               kBench);
    });
  };
  const double latency = copy(kSmall);
  const RateCurve all = curve(latency, copy, 2);  // each byte is read and written
  int device = 0, cache = 0;
  HG_CHECK(cudaGetDevice(&device), kBench);
  HG_CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), kBench);
  for (const RatePoint& point : all) {  // the largest size that fits into the cache, or the first
    if (point.bytes > cache && figures.l2_bytes > 0) break;
    figures.l2_gbps = point.gbps;
    figures.l2_bytes = point.bytes;
  }
  for (const RatePoint& point : all) {
    if (point.bytes > figures.l2_bytes) figures.hbm.push_back(point);
  }
  if (figures.hbm.empty()) figures.hbm.push_back(all.back());
  const auto bytes = static_cast<int64_t>(all.back().bytes) / 2;
  const double kernel = meter_.device([&] {
    launch_unary(UnaryFn::kCopy, reinterpret_cast<float*>(other_),
                 reinterpret_cast<const float*>(buffer_), bytes / 4, meter_.stream(), kBench);
  });
  figures.kernel_share = std::clamp(copy(bytes) / kernel, 0.01, 1.0);
}

void Bench::calls(Figures& figures) {
  const cudaStream_t stream = meter_.stream();
  const auto kernel = [&](cudaStream_t on) {
    launch_unary(UnaryFn::kCopy, reinterpret_cast<float*>(other_),
                 reinterpret_cast<const float*>(buffer_), 4, on, kBench);
  };
  const auto there = [&] {
    HG_CHECK(cudaEventRecord(to_, stream), kBench);
    HG_CHECK(cudaStreamWaitEvent(beside_, to_, 0), kBench);
  };
  const auto back = [&] {
    HG_CHECK(cudaEventRecord(from_, beside_), kBench);
    HG_CHECK(cudaStreamWaitEvent(stream, from_, 0), kBench);
  };
  figures.device["kernel"] = meter_.device([&] { kernel(stream); });
  figures.host["kernel"] = meter_.host([&] { kernel(stream); });
  // Kernels precede the events, because an event without earlier work takes no time.
  const double round = meter_.device([&] {
    kernel(stream);
    there();
    kernel(beside_);
    back();
  });
  figures.device["event"] = std::max(round / 2 - figures.device["kernel"], kLeastTime);
  figures.host["event"] = meter_.host([&] {
    there();
    back();
  }) / 4;
  // These three can be measured only in a program. They are constants of an H200, as in
  // figures.cpp.
  figures.device["call"] = 3.3;
  figures.host["call"] = 14;
  figures.host["nccl"] = 5;
  graphs(
      figures, [&] { kernel(stream); },
      [&] {
        there();
        kernel(beside_);
        kernel(stream);
        back();
      });
  flags(figures);
}

// The fixed time of a graph is measured on a graph with forks and joins, as calls have them. A
// chain has a shorter fixed time.
void Bench::graphs(Figures& figures, const Meter::Issue& kernel, const Meter::Issue& fork) {
  constexpr int kMany = 17;
  const auto times = [&](int kernels, int forks) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    HG_CHECK(cudaStreamBeginCapture(meter_.stream(), cudaStreamCaptureModeThreadLocal), kBench);
    for (int k = 0; k < kernels; ++k) kernel();
    for (int k = 0; k < forks; ++k) fork();
    HG_CHECK(cudaStreamEndCapture(meter_.stream(), &graph), kBench);
    HG_CHECK(cudaGraphInstantiate(&made, graph, 0), kBench);
    const auto launch = [&] { HG_CHECK(cudaGraphLaunch(made, meter_.stream()), kBench); };
    const double time = meter_.device(launch);
    figures.host["graph"] = meter_.host(launch);
    HG_CHECK(cudaGraphExecDestroy(made), kBench);
    HG_CHECK(cudaGraphDestroy(graph), kBench);
    return time;
  };
  const double node = (times(kMany, 0) - times(1, 0)) / (kMany - 1);
  figures.device["graph_node"] = std::max(node, kLeastTime);
  figures.device["graph"] = std::max(times(1, 2) - 3 * figures.device["graph_node"], kLeastTime);
}

// Measures a flag in this rank's memory, which this rank writes and waits for. So the times do not
// include the link to a peer.
void Bench::flags(Figures& figures) {
  const int64_t rank = context_.rank();
  const auto one = [&] {
    HG_CHECK(
        peers_.memory().cuStreamWriteValue32(meter_.stream(), shared_->ready_at(rank, 0), 1, 0),
        kBench);
    HG_CHECK(peers_.memory().cuStreamWaitValue32(meter_.stream(), shared_->ready(0), 1,
                                                 CU_STREAM_WAIT_VALUE_GEQ),
             kBench);
  };
  constexpr int kBatch = 9;
  const auto batch = [&](int count) {
    return meter_.device([&] {
      MemOpBatch flags(FlagUse::kWrite, peers_.memory());
      for (int i = 0; i < count; ++i) flags.add(shared_->ready_at(rank, 0), {1, nullptr});
      flags.submit(meter_.stream(), kBench);
    });
  };
  figures.device["flag"] = meter_.device(one) / 2;
  figures.host["flag"] = meter_.host(one) / 2;
  figures.device["flag_batch"] = std::max(batch(kBatch) - batch(1), 0.0) / (kBatch - 1);
}

void Bench::links(Figures& figures) {
  const int64_t next = (context_.rank() + 1) % context_.world();
  char* peer = shared_->of<char>(next);
  const auto copy = [&](void* out, const void* in) {
    return [this, out, in](int64_t bytes) {
      return meter_.device([&] {
        HG_CHECK(cudaMemcpyAsync(out, in, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                                 meter_.stream()),
                 kBench);
      });
    };
  };
  const auto pull = copy(other_, peer), push = copy(peer, other_);
  const auto by_kernel = [&](int64_t bytes) {
    return meter_.device([&] {
      launch_transfer(other_, peer, static_cast<size_t>(bytes), shared_->flags(next, 0),
                      meter_.stream(), kBench);
    });
  };
  figures.device["copy"] = std::max(pull(kSmall), kLeastTime);
  figures.host["copy"] = meter_.host([&] {
    HG_CHECK(cudaMemcpyAsync(other_, peer, kSmall, cudaMemcpyDeviceToDevice, meter_.stream()),
             kBench);
  });
  figures.pull = curve(figures.device["copy"], pull);
  figures.push = curve(push(kSmall), push);
  figures.sm_copy = curve(by_kernel(kSmall), by_kernel);
  for (const RateCurve* all : {&figures.pull, &figures.push, &figures.sm_copy}) {
    figures.limit_gbps = std::max(figures.limit_gbps, all->back().gbps);
  }
}

}  // namespace hirgen
