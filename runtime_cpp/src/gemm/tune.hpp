// --tune: chooses algorithms by timing the whole program, on all ranks at the same time.
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

/// Chooses the fastest algorithm for every GEMM for which all ranks offer a common one. For each
/// candidate, the tuner times calls of the whole program back to back, with the transfers and GEMMs
/// of all ranks, and takes the slowest rank's time. The host issues a whole round of candidates
/// without waiting for the GPUs. So the GPUs stay busy, with clocks and power as in sustained work.
class Tuner {
 public:
  /// `call` issues one call of the program on `stream`.
  Tuner(Context& context, cudaStream_t stream, std::function<void()> call);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// Collective. Tunes one GEMM after the other, while the others keep their current algorithms.
  /// The choices are in use when it returns. Returns the choices, equal on every rank except for
  /// `workspace_bytes`. If ranks differ in GPU model or libraries, it returns none, and rank 0
  /// prints the reason on standard error.
  std::vector<PlanChoice> run(const std::string& program);

 private:
  Offer own_offer();
  /// Issues calls until clocks have settled, and finds the number of calls in a sample.
  void warm_up();
  PlanChoice tune(const PlanBook::Gemm& gemm, const GemmOffer& offer);
  /// Seconds of a program call on the slowest rank, for each of the candidates in `order`.
  std::vector<double> time_round(const PlanBook::Gemm& gemm,
                                 const std::vector<MatmulCandidate>& all,
                                 const std::vector<int>& order);
  void issue(int calls);
  cudaEvent_t timer(size_t index);
  double elapsed_seconds(size_t begin, size_t end) const;

  Context& context_;
  cudaStream_t stream_;
  std::function<void()> call_;
  std::vector<AlgorithmScope> scopes_;
  std::vector<cudaEvent_t> timers_;
  int calls_ = 1;  ///< program calls in one sample
};

}  // namespace hirgen
