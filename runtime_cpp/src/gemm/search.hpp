// Finds the algorithm that makes a program fastest, from times that drift and scatter, by
// successive halving. Each round measures all remaining candidates. The caller measures.
#pragma once

#include <functional>
#include <vector>

namespace hirgen {

/// Times one round: runs each of these candidates once, in this order, and returns the seconds of
/// each in the same order.
using MeasureRound = std::function<std::vector<double>(const std::vector<int>& candidates)>;

/// The number of measurements, and the least gain that counts.
struct SearchLimits {
  int rounds_per_halving = 2;
  int finalists = 4;          ///< most candidates that halving leaves, without the default
  int final_rounds = 8;       ///< rounds of the finalists; only these decide
  double least_gain = 0.005;  ///< as a share of the default's time
};

/// The result of a search.
struct SearchResult {
  int best = 0;                ///< the candidate to take; 0 is the default
  double default_seconds = 0;  ///< median of the default over the final rounds
  double best_seconds = 0;     ///< median of `best` over the final rounds
};

/// Searches among candidates 0 to count - 1. Candidate 0 is the default and is measured in every
/// round. Candidates are compared by their times relative to the default's in the same round. Every
/// second round goes backwards, so that a drifting clock affects all alike. The default wins unless
/// the best other candidate is faster by at least least_gain in the median, and faster by any
/// amount in more than three quarters of the final rounds. Ranks that measure equal times get equal
/// results.
SearchResult search_fastest(int count, const MeasureRound& measure,
                            const SearchLimits& limits = {});

}  // namespace hirgen
