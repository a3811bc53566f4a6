// --tune: the choice of algorithms, made inside the running program, on all ranks at once.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>
#include <vector>

#include "gemm/plan_book.hpp"
#include "gemm/plan_file.hpp"
#include "gemm/tune_offer.hpp"
#include "hirgen/context.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// Searches the algorithms of every GEMM of a context's programs and takes the fastest.
/// A candidate is timed by the whole program: calls back to back, each rank's transfers and
/// GEMMs under way, the slowest rank's time. The queues of the GPUs do not run dry within
/// a round of candidates, so clocks and power are those of sustained work.
class Tuner {
 public:
  /// `call` issues one call of the program on `stream`.
  Tuner(Context& context, cudaStream_t stream, std::function<void()> call);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// Collective. One GEMM after the other, the others keeping what was chosen for them; the
  /// choices are in use when it returns. What was chosen, equal on every rank except that
  /// `workspace_bytes` is this rank's own. Says on rank 0's standard error why there is none.
  std::vector<PlanChoice> run(const std::string& program);

 private:
  Offer own_offer();
  /// Issues calls until clocks have settled, and finds how many make up a sample.
  void warm_up();
  PlanChoice tune(const PlanBook::Gemm& gemm, const GemmOffer& offer);
  /// Seconds of a call on the slowest rank, for each of the candidates in turn.
  std::vector<double> time_round(const PlanBook::Gemm& gemm,
                                 const std::vector<MatmulCandidate>& all,
                                 const std::vector<int>& order);
  void issue(int calls);
  cudaEvent_t timer(size_t index);
  double elapsed_seconds(size_t begin, size_t end) const;

  Context& context_;
  cudaStream_t stream_;
  std::function<void()> call_;
  Library library_;
  std::vector<cudaEvent_t> timers_;
  int calls_ = 1;  ///< of a sample
};

}  // namespace hirgen
