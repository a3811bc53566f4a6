// The GEMMs of a context: the plans that its programs have made, and the algorithms that a file
// chooses for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gemm/plan_file.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// The book of one context. Not thread-safe.
class PlanBook {
 public:
  /// Reads `file`. Plans that are made later take their algorithm from it, if it has one for their
  /// shape and one of the scopes `own`. Throws Error(kEnvironment) if the file cannot be read or is
  /// malformed.
  void load(const std::string& file, const std::vector<AlgorithmScope>& own);

  /// Notes that the algorithms of plans will be tuned, so that they may need larger workspaces.
  void tune() { tunes_ = true; }
  bool tunes() const { return tunes_; }

  /// The file's choice for a new plan; nullopt if there is none. Also returns nullopt, and adds a
  /// line to notes(), if the choice is for another GPU model, library or version, if HIRGEN_GEMM
  /// requests another library, or if the library rejects the algorithm.
  std::optional<MatmulCandidate> choice(const MatmulPlan& plan);

  /// One line for each GEMM whose choice in the file was not taken, with the reason.
  const std::vector<std::string>& notes() const { return notes_; }

  /// A plan calls add() when it is made, remove() when it is destroyed, and exchange() when it is
  /// swapped with another plan, which may be in no book.
  void add(MatmulPlan* plan) { plans_.push_back(plan); }
  void remove(const MatmulPlan* plan);
  void exchange(MatmulPlan* one, MatmulPlan* other);

  /// All plans with one shape; they have the same algorithm.
  struct Gemm {
    std::string text;  ///< the shape as text, from describe()
    std::vector<MatmulPlan*> plans;

    /// Gives this algorithm to all of the plans.
    void use(const MatmulCandidate& candidate, PlanSource by) const;
  };
  /// The GEMMs of all programs, in the order in which their first plans were made.
  std::vector<Gemm> gemms() const;

 private:
  void note(const std::string& line);

  bool tunes_ = false;
  std::string file_;
  std::vector<AlgorithmScope> own_;
  std::vector<PlanChoice> choices_;
  std::vector<std::string> notes_;
  std::vector<MatmulPlan*> plans_;
};

}  // namespace hirgen
