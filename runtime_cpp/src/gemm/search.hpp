// Finds the algorithm that makes a program fastest, from times that drift and scatter: successive
// halving over interleaved rounds. The caller measures.
#pragma once

#include <functional>
#include <vector>

namespace hirgen {

/// Times one round: each of these candidates once, in this order; seconds of each.
using MeasureRound = std::function<std::vector<double>(const std::vector<int>& candidates)>;

/// The number of measurements, and the least gain that counts.
struct SearchLimits {
  int rounds_per_halving = 2;
  int finalists = 4;          ///< without the default; fewer are not halved
  int final_rounds = 8;       ///< only these decide
  double least_gain = 0.005;  ///< share of the default's time
};

/// The result of a search.
struct SearchResult {
  int best = 0;                ///< the candidate to take; 0 is the default
  double default_seconds = 0;  ///< medians of the final rounds
  double best_seconds = 0;
};

/// Searches among candidates 0 to count - 1. Candidate 0 is the default and is measured in every
/// round. Candidates are compared by their times relative to the default's in the same round. Every
/// second round goes backwards, so that a drifting clock affects all alike. The default stays,
/// unless a candidate is faster by least_gain in the median and faster at all in three of four
/// rounds. With equal times, every rank decides alike.
SearchResult search_fastest(int count, const MeasureRound& measure,
                            const SearchLimits& limits = {});

}  // namespace hirgen
