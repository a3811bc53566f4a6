// Which of several algorithms makes a program fastest, from times that drift and scatter:
// successive halving over interleaved rounds. Measuring is someone else's business.
#pragma once

#include <functional>
#include <vector>

namespace hirgen {

/// Times one round: each of these candidates once, in this order; seconds of each.
using MeasureRound = std::function<std::vector<double>(const std::vector<int>& candidates)>;

/// How much is measured, and what counts as a gain.
struct SearchLimits {
  int rounds_per_halving = 2;
  int finalists = 4;          ///< beside the default; fewer than this are not halved
  int final_rounds = 8;       ///< these alone decide
  double least_gain = 0.005;  ///< share of the default's time
};

/// What a search found.
struct SearchResult {
  int best = 0;                ///< the candidate to take; 0 is the default
  double default_seconds = 0;  ///< medians of the final rounds
  double best_seconds = 0;
};

/// Searches among candidates 0 to count - 1, of which 0, the default, is measured in every
/// round. Candidates are compared by their times relative to the default's in the same round,
/// and every second round goes backwards, so that a clock that drifts weighs on all alike. The
/// default stays unless a candidate is faster by least_gain in the median and faster at all in
/// three rounds of four. Given equal times, every rank decides alike.
SearchResult search_fastest(int count, const MeasureRound& measure,
                            const SearchLimits& limits = {});

}  // namespace hirgen
