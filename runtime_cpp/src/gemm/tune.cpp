#include "gemm/tune.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "gemm/search.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr const char* kTune = "tune";
constexpr int kMostCandidates = 24;  // candidates of each library
// A sample is long enough to show the cost of an algorithm on a GPU at its power limit.
constexpr double kSampleSeconds = 0.04;
constexpr double kWarmUpSeconds = 0.3;
// The most calls of a sample and of the warm-up. A stream queues all samples of a round.
constexpr int kMostCalls = 200;
// The first call after a change may capture a graph, the second one fills the pipeline.
constexpr int kCallsBeforeSample = 2;

std::vector<double> slowest(const std::vector<std::string>& ranks, size_t count) {
  std::vector<double> result(count);
  for (const std::string& rank : ranks) {
    Reader reader(rank);
    for (double& seconds : result) seconds = std::max(seconds, reader.get<double>());
  }
  return result;
}

}  // namespace

Tuner::Tuner(Context& context, cudaStream_t stream, std::function<void()> call)
    : context_(context),
      stream_(stream),
      call_(std::move(call)),
      scopes_(scopes_of(context.options().device)) {}

Tuner::~Tuner() {
  for (cudaEvent_t event : timers_) static_cast<void>(cudaEventDestroy(event));
}

std::vector<PlanChoice> Tuner::run(const std::string& program) {
  std::vector<Offer> offers;
  for (const std::string& bytes :
       context_.rendezvous().allgather(encode(own_offer()), "tune: algorithms")) {
    offers.push_back(decode_offer(bytes));
  }
  std::string problem;
  const std::vector<GemmOffer> common = common_offers(offers, &problem);
  if (!problem.empty() && context_.rank() == 0) {
    std::fprintf(stderr, "hirgen: %s\n", problem.c_str());
  }
  std::vector<PlanChoice> choices;
  if (common.empty()) return choices;
  warm_up();
  const std::vector<PlanBook::Gemm> gemms = context_.plans().gemms();
  for (const GemmOffer& offer : common) {
    const auto gemm = std::find_if(gemms.begin(), gemms.end(),
                                   [&](const auto& own) { return own.text == offer.gemm; });
    PlanChoice& choice = choices.emplace_back(tune(*gemm, offer));
    choice.measured.program = program;
  }
  return choices;
}

// Leaves out algorithms that check() rejects, since a plan file could not restore them.
Offer Tuner::own_offer() {
  Offer offer{scopes_, {}};
  for (const PlanBook::Gemm& gemm : context_.plans().gemms()) {
    const MatmulPlan& plan = *gemm.plans.front();
    GemmOffer& own = offer.gemms.emplace_back(GemmOffer{gemm.text, {}});
    for (const MatmulCandidate& candidate : plan.candidates(kMostCandidates, kTune)) {
      if (plan.check(candidate.algorithm)) own.add(candidate.algorithm);
    }
  }
  return offer;
}

void Tuner::warm_up() {
  issue(1);  // the first call exchanges IPC handles and loads kernels
  context_.synchronize(stream_);
  HG_CHECK(cudaEventRecord(timer(0), stream_), kTune);
  issue(kCallsBeforeSample);
  HG_CHECK(cudaEventRecord(timer(1), stream_), kTune);
  context_.synchronize(stream_);
  const double call = std::max(
      1e-6, context_.rendezvous().max(elapsed_seconds(0, 1), "tune: a call") / kCallsBeforeSample);
  const auto calls_in = [&](double seconds) {
    return static_cast<int>(std::clamp(std::ceil(seconds / call), 2.0, double{kMostCalls}));
  };
  calls_ = calls_in(kSampleSeconds);
  issue(calls_in(kWarmUpSeconds));
  context_.synchronize(stream_);
}

PlanChoice Tuner::tune(const PlanBook::Gemm& gemm, const GemmOffer& offer) {
  std::vector<MatmulCandidate> all;
  for (const GemmAlgorithm& algorithm : offer.algorithms) {
    // value() does not throw: own_offer() offers only algorithms that pass this check.
    all.push_back(gemm.plans.front()->check(algorithm).value());
  }
  // The first launch of a kernel loads it, and may wait for the GPU. So launch each before timing.
  for (const MatmulCandidate& candidate : all) {
    gemm.use(candidate, PlanSource::kTuned);
    issue(1);
    context_.synchronize(stream_);
  }
  const SearchResult found =
      search_fastest(static_cast<int>(all.size()),
                     [&](const std::vector<int>& order) { return time_round(gemm, all, order); });
  const MatmulCandidate& best = all[static_cast<size_t>(found.best)];
  gemm.use(best, PlanSource::kTuned);
  const auto scope = std::find_if(scopes_.begin(), scopes_.end(), [&](const auto& own) {
    return own.library == best.algorithm.library;
  });
  PlanChoice choice{gemm.text,
                    *scope,
                    best.algorithm.bytes,
                    static_cast<int64_t>(best.workspace_bytes),
                    attributes_of(best.algorithm),
                    {}};
  choice.measured.ranks = context_.world();
  choice.measured.candidates = static_cast<int64_t>(all.size());
  choice.measured.default_seconds = found.default_seconds;
  choice.measured.seconds = found.best_seconds;
  return choice;
}

std::vector<double> Tuner::time_round(const PlanBook::Gemm& gemm,
                                      const std::vector<MatmulCandidate>& all,
                                      const std::vector<int>& order) {
  context_.rendezvous().barrier("tune: begin of a round");
  for (size_t i = 0; i < order.size(); ++i) {
    gemm.use(all[static_cast<size_t>(order[i])], PlanSource::kTuned);
    issue(kCallsBeforeSample);
    HG_CHECK(cudaEventRecord(timer(2 * i), stream_), kTune);
    issue(calls_);
    HG_CHECK(cudaEventRecord(timer(2 * i + 1), stream_), kTune);
  }
  context_.synchronize(stream_);
  Writer mine;
  for (size_t i = 0; i < order.size(); ++i) {
    mine.put(elapsed_seconds(2 * i, 2 * i + 1) / calls_);
  }
  return slowest(context_.rendezvous().allgather(mine.bytes(), "tune: times of a round"),
                 order.size());
}

void Tuner::issue(int calls) {
  for (int i = 0; i < calls; ++i) call_();
}

cudaEvent_t Tuner::timer(size_t index) {
  while (timers_.size() <= index) HG_CHECK(cudaEventCreate(&timers_.emplace_back()), kTune);
  return timers_[index];
}

double Tuner::elapsed_seconds(size_t begin, size_t end) const {
  float milliseconds = 0;
  HG_CHECK(cudaEventElapsedTime(&milliseconds, timers_[begin], timers_[end]), kTune);
  return static_cast<double>(milliseconds) / 1e3;
}

}  // namespace hirgen
