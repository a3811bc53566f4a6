#include "gemm/search.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "driver/report.hpp"

namespace hirgen {

namespace {

// The upper quartile of the values.
double upper_quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 3 / 4];
}

// Measures rounds of the remaining candidates, and keeps their times.
class Race {
 public:
  Race(int count, const MeasureRound& measure)
      : measure_(measure), alive_(static_cast<size_t>(count)) {
    std::iota(alive_.begin(), alive_.end(), 0);
  }

  void run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      std::vector<int> order = alive_;
      if (backwards_) std::reverse(order.begin(), order.end());
      backwards_ = !backwards_;
      record(order, measure_(order));
    }
  }

  // Keeps the default and the `count` others with the lowest median ratios.
  void keep_best(size_t count) {
    std::sort(alive_.begin(), alive_.end(), [&](int a, int b) {
      if (a == 0 || b == 0) return a == 0 && b != 0;
      const double x = median(ratios_[a]), y = median(ratios_[b]);
      return x != y ? x < y : a < b;
    });
    alive_.resize(std::min(alive_.size(), count + 1));
  }

  void forget() {
    ratios_.clear();
    seconds_.clear();
  }

  size_t others() const { return alive_.size() - 1; }
  int first_other() const { return alive_[1]; }
  const std::vector<double>& ratios(int candidate) { return ratios_[candidate]; }
  const std::vector<double>& seconds(int candidate) { return seconds_[candidate]; }

 private:
  void record(const std::vector<int>& order, const std::vector<double>& seconds) {
    const auto index = std::find(order.begin(), order.end(), 0) - order.begin();
    for (size_t i = 0; i < order.size(); ++i) {
      seconds_[order[i]].push_back(seconds[i]);
      ratios_[order[i]].push_back(seconds[i] / seconds[static_cast<size_t>(index)]);
    }
  }

  const MeasureRound& measure_;
  std::vector<int> alive_;  // remaining candidates; the default comes first
  bool backwards_ = false;
  std::map<int, std::vector<double>> ratios_, seconds_;
};

}  // namespace

SearchResult search_fastest(int count, const MeasureRound& measure, const SearchLimits& limits) {
  Race race(count, measure);
  const auto finalists = static_cast<size_t>(limits.finalists);
  while (race.others() > finalists) {
    race.run(limits.rounds_per_halving);
    race.keep_best(std::max(finalists, race.others() / 2));
  }
  race.forget();
  race.run(limits.final_rounds);
  SearchResult result;
  result.default_seconds = result.best_seconds = median(race.seconds(0));
  race.keep_best(1);
  if (race.others() == 0) return result;
  const int best = race.first_other();
  const std::vector<double>& ratios = race.ratios(best);
  if (median(ratios) <= 1 - limits.least_gain && upper_quartile(ratios) < 1) {
    result.best = best;
    result.best_seconds = median(race.seconds(best));
  }
  return result;
}

}  // namespace hirgen
