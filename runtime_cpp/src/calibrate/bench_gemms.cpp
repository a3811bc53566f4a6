// Measures GEMMs, collectives, and the rate that GEMMs lose to other work.
#include <algorithm>

#include "bootstrap/rendezvous.hpp"
#include "calibrate/bench.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr const char* kGemm = "calibrate GEMM";
constexpr const char* kTeam = "calibrate team";
constexpr double kLongGemm = 20e3;     // microseconds: the longest GEMM to run
constexpr double kHeatSeconds = 0.25;  // a sample this long reaches the power limit
constexpr double kShortSeconds =
    0.02;  // a sample this long does not reach the power limit, but the clock rises
constexpr int64_t kLeastExtent = 64, kMostExtent = 8192;
constexpr double kTera = 1e6;  // FLOP per microsecond at 1 TFLOP/s

double flops(const MatmulShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k);
}

/// Returns the share of a rate that is lost if the time grows from `alone` to `beside`: at most
/// 0.5, and 0 if the time does not grow.
double share_lost(double alone, double beside) {
  return beside <= alone ? 0 : std::min(1 - alone / beside, 0.5);
}

/// Arranges the SMs as a rectangle, as near to a square as possible, and returns its number of
/// rows, the shorter side.
int64_t rows_of_wave(int64_t sms) {
  int64_t rows = 1;
  for (int64_t r = 2; r * r <= sms; ++r) {
    if (sms % r == 0) rows = r;
  }
  return rows;
}

}  // namespace

Bench::~Bench() {
  static_cast<void>(cudaEventDestroy(to_));
  static_cast<void>(cudaEventDestroy(from_));
  static_cast<void>(cudaStreamDestroy(beside_));
}

// Stops at an extent if the next GEMM, with 8 times the work, would take longer than kLongGemm.
GemmRun& Bench::gemm(DType dtype) {
  for (int64_t extent = kLeastExtent; extent <= kMostExtent; extent *= 2) {
    gemm_.reset();
    gemm_ = std::make_unique<GemmRun>(context_, extent, dtype, meter_.stream());
    const double us = meter_.device([&] { gemm_->issue(workspace_, meter_.stream()); }, 0);
    if (us * 8 > kLongGemm) break;
  }
  return *gemm_;
}

void Bench::gemms(Figures& figures) {
#define HG_DTYPE(enumerator, ...) DType::enumerator,
  for (const DType dtype : {HG_NUMBER_TYPES(HG_DTYPE)}) {
#undef HG_DTYPE
    const GemmRun& whole = gemm(dtype);
    if (dtype == DType::kBf16) fixed_times(whole, figures);  // once, and before rate_of() uses them
    // Rates leave out the fixed times of a GEMM and its tiles, because predictions add these times.
    const auto rate_of = [&](const MatmulShape& shape, double seconds) {
      const MatmulPlan plan(context_.cublas(), shape, kGemm);
      const double us =
          meter_.device([&] { whole.issue(plan, workspace_, meter_.stream()); }, seconds);
      const double tiles = static_cast<double>(shape.m * shape.n) / (128 * 256) / figures.sms;
      const double work = us - figures.device["gemm"] - tiles * figures.device["tile"];
      return flops(shape) / std::max(work, us / 2) / kTera;
    };
    GemmRate rate;
    MatmulShape wave = whole.shape();  // at most one tile of 128 x 256 for each SM
    const int64_t rows = rows_of_wave(figures.sms);
    wave.m = std::min(wave.m, 128 * rows);
    wave.n = std::min(wave.n, 256 * (figures.sms / rows));
    rate.peak_tflops = rate_of(wave, kShortSeconds);
    rate.sustained_tflops = rate_of(whole.shape(), kHeatSeconds);
    rate.peak_tflops = std::max(rate.peak_tflops, rate.sustained_tflops);
    figures.gemm[spelling(dtype)] = rate;
  }
  figures.source += "; GEMMs by " + gemm_->library();
}

void Bench::fixed_times(const GemmRun& whole, Figures& figures) {
  MatmulShape tiny = whole.shape();
  tiny.m = tiny.n = tiny.k = kLeastExtent;
  const MatmulPlan plan(context_.cublas(), tiny, kGemm);
  const auto issue = [&] { whole.issue(plan, workspace_, meter_.stream()); };
  figures.device["gemm"] = meter_.device(issue);
  figures.host["gemm"] = meter_.host(issue);
  figures.device["tile"] = 1.22;  // this and the next are constants of an H200, as in figures.cpp
  figures.device["split"] = 1.9;
}

void Bench::collectives(Figures& figures) {
  for (int ranks = 2; ranks <= context_.world(); ranks *= 2) {
    if (context_.world() % ranks != 0) continue;
    figures.teams.push_back(team(ranks, false));
    figures.allreduce.push_back(team(ranks, true));
  }
  if (figures.teams.empty() || figures.teams.back().ranks != context_.world()) {
    figures.teams.push_back(team(context_.world(), false));
    figures.allreduce.push_back(team(context_.world(), true));
  }
  figures.pair = pair();
}

CollectiveFigures Bench::team(int ranks, bool sums) {
  std::vector<int> members(static_cast<size_t>(ranks));
  const int first = context_.rank() / ranks * ranks;
  for (int i = 0; i < ranks; ++i) members[static_cast<size_t>(i)] = first + i;
  const Team& team = context_.team(members, kTeam);
  const auto time = [&](int64_t bytes) {  // `bytes`: size of the larger buffer
    const auto count = static_cast<size_t>(std::max<int64_t>(bytes / 2 / ranks, 1));
    return meter_.device([&] {
      if (sums) {
        HG_CHECK(ncclAllReduce(buffer_, other_, count * static_cast<size_t>(ranks), ncclBfloat16,
                               ncclSum, team.comm, meter_.stream()),
                 kTeam);
      } else {
        HG_CHECK(ncclAllGather(buffer_, other_, count, ncclBfloat16, team.comm, meter_.stream()),
                 kTeam);
      }
    });
  };
  CollectiveFigures figures{.ranks = ranks, .latency_us = time(64), .gbps = {}};
  const double sent = static_cast<double>(ranks - 1) / ranks * (sums ? 2 : 1);
  figures.gbps = curve(figures.latency_us, time, sent);
  return figures;
}

CollectiveFigures Bench::pair() {
  std::vector<int> all(static_cast<size_t>(context_.world()));
  for (int i = 0; i < context_.world(); ++i) all[static_cast<size_t>(i)] = i;
  const Team& team = context_.team(all, kTeam);
  const int next = (team.rank + 1) % team.size, last = (team.rank + team.size - 1) % team.size;
  const auto time = [&](int64_t bytes) {
    const auto count = static_cast<size_t>(bytes / 2);
    return meter_.device([&] {
      HG_CHECK(ncclGroupStart(), kTeam);
      HG_CHECK(ncclSend(buffer_, count, ncclBfloat16, next, team.comm, meter_.stream()), kTeam);
      HG_CHECK(ncclRecv(other_, count, ncclBfloat16, last, team.comm, meter_.stream()), kTeam);
      HG_CHECK(ncclGroupEnd(), kTeam);
    });
  };
  CollectiveFigures figures{.ranks = 2, .latency_us = time(64), .gbps = {}};
  figures.gbps = curve(figures.latency_us, time);
  return figures;
}

// The two streams wait for each other in each run, so that the GEMMs of a run overlap only with the
// other work of the same run.
double Bench::loss(const Meter::Issue& other) {
  const auto gemms = [&] {
    for (int i = 0; i < 2; ++i) gemm_->issue(workspace_, meter_.stream());
  };
  const auto joined = [&](const Meter::Issue& work) {
    return meter_.device(
        [&] {
          HG_CHECK(cudaEventRecord(to_, meter_.stream()), kGemm);
          HG_CHECK(cudaStreamWaitEvent(beside_, to_, 0), kGemm);
          work();
          gemms();
          HG_CHECK(cudaEventRecord(from_, beside_), kGemm);
          HG_CHECK(cudaStreamWaitEvent(meter_.stream(), from_, 0), kGemm);
        },
        0.05);
  };
  return share_lost(joined([] {}), joined(other));
}

void Bench::contention(Figures& figures) {
  gemm(DType::kBf16);  // makes gemm_; the rates below are of this type, too
  const int64_t next = (context_.rank() + 1) % context_.world();
  std::vector<int> all(static_cast<size_t>(context_.world()));
  for (int i = 0; i < context_.world(); ++i) all[static_cast<size_t>(i)] = i;
  const Team& team = context_.team(all, kTeam);
  const double one = meter_.device([&] { gemm_->issue(workspace_, meter_.stream()); });
  // The other work moves enough bytes to take about as long as one GEMM. loss() runs two GEMMs, so
  // only half of their time overlaps with it: hence the factor 2.
  const auto bytes = static_cast<size_t>(
      std::clamp<double>(one * figures.limit_gbps * 1e3, 1 << 16, static_cast<double>(most_)));
  figures.beside["copy"] = 2 * loss([&] {
                             HG_CHECK(cudaMemcpyAsync(other_, shared_->of<char>(next), bytes,
                                                      cudaMemcpyDeviceToDevice, beside_),
                                      kGemm);
                           });
  const size_t count = bytes / 2 / static_cast<size_t>(team.size);
  figures.beside["nccl"] =
      2 * loss([&] {
        HG_CHECK(ncclAllGather(buffer_, other_, count, ncclBfloat16, team.comm, beside_), kTeam);
      });
  // A collective takes SMs from a GEMM. Predictions compute this part of the loss, from the rate on
  // the other SMs. Keep only the rest of the loss.
  const GemmRate& rate = figures.gemm[spelling(DType::kBf16)];
  const double others = 1 - static_cast<double>(nccl_sms(figures.sms)) / figures.sms;
  const double on_others = std::min(1.0, others * rate.peak_tflops / rate.sustained_tflops);
  double& nccl = figures.beside["nccl"];
  nccl = 1 - std::min(1.0, (1 - nccl) / on_others);
  for (auto& [name, share] : figures.beside) share = std::min(share, 0.5);
  // Two GEMMs on two streams do twice the work. All time beyond twice a single GEMM's is lost.
  const double serial = 2 * one;
  const double together = meter_.device([&] {
    HG_CHECK(cudaEventRecord(to_, meter_.stream()), kGemm);
    HG_CHECK(cudaStreamWaitEvent(beside_, to_, 0), kGemm);
    gemm_->issue(static_cast<char*>(workspace_) + kWorkspaceBytes, beside_);
    gemm_->issue(workspace_, meter_.stream());
    HG_CHECK(cudaEventRecord(from_, beside_), kGemm);
    HG_CHECK(cudaStreamWaitEvent(meter_.stream(), from_, 0), kGemm);
  });
  figures.beside["gemm"] = share_lost(serial, together);
}

}  // namespace hirgen
