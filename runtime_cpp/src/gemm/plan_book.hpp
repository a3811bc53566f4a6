// The GEMMs of a context: its plans, registered as programs make them, and the choices of
// algorithm that a file gave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gemm/plan_file.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// One context's. For the context's host thread, like the context.
class PlanBook {
 public:
  /// Plans that are made from now on take their algorithm from `file` where it has one for
  /// their shape and `own`. Throws Error(kEnvironment) if the file is not as it should be.
  void load(const std::string& file, const Library& own);

  /// The algorithms of plans will be tuned: they may come to need other workspaces.
  void tune() { tunes_ = true; }
  bool tunes() const { return tunes_; }

  /// The file's choice for a plan that is being made; nothing if there is none, or if it is
  /// for another GPU model or cuBLASLt, or if cuBLASLt refuses it, which goes into notes().
  std::optional<MatmulCandidate> choice(cublasLtHandle_t cublas, const MatmulPlan& plan);

  /// One line for each GEMM that the file knows and that did not take its choice: why.
  const std::vector<std::string>& notes() const { return notes_; }

  /// A plan is made, is gone, or is swapped with another one that may be anyone's.
  void add(MatmulPlan* plan) { plans_.push_back(plan); }
  void remove(const MatmulPlan* plan);
  void exchange(MatmulPlan* one, MatmulPlan* other);

  /// Plans with one shape: they have one algorithm.
  struct Gemm {
    std::string text;  ///< describe() of the shape
    std::vector<MatmulPlan*> plans;

    /// Gives all of them this algorithm.
    void use(const MatmulCandidate& candidate, PlanSource by) const;
  };
  /// The GEMMs of all programs, in the order in which their first plans were made.
  std::vector<Gemm> gemms() const;

 private:
  void note(const std::string& line);

  bool tunes_ = false;
  std::string file_;
  Library own_;
  std::vector<PlanChoice> choices_;
  std::vector<std::string> notes_;
  std::vector<MatmulPlan*> plans_;
};

}  // namespace hirgen
