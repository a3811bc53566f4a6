#include "stream/order.hpp"

#include <cstdio>
#include <cstdlib>

namespace hirgen_cpu {

uint64_t Order::seed_from_environment() {
  const char* text = getenv("HIRGEN_CPU_SEED");
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  uint64_t seed = strtoull(text, &end, 0);
  if (*end != '\0') {
    fprintf(stderr, "hirgen CPU device: HIRGEN_CPU_SEED=%s is not a number\n", text);
    exit(3);
  }
  return seed;
}

uint64_t Order::next() {  // splitmix64
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void Order::draw_strategy() {
  uint64_t draw = next() % 8;
  strategy_ = draw < 5   ? Strategy::kNewestFirst
              : draw < 7 ? Strategy::kPriorities
                         : Strategy::kUniform;
  priority_.clear();
}

size_t Order::pick(const std::vector<Candidate>& candidates) {
  if (!drawn_ || chance(24)) draw_strategy();
  drawn_ = true;
  switch (strategy_) {
    case Strategy::kNewestFirst:
      return pick_newest(candidates);
    case Strategy::kPriorities:
      return pick_priority(candidates);
    case Strategy::kUniform:
      break;
  }
  return next() % candidates.size();
}

size_t Order::pick_newest(const std::vector<Candidate>& candidates) const {
  size_t newest = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (candidates[i].age > candidates[newest].age) newest = i;
  }
  return newest;
}

size_t Order::pick_priority(const std::vector<Candidate>& candidates) {
  size_t best = 0;
  uint64_t best_priority = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    auto [entry, fresh] = priority_.try_emplace(candidates[i].stream, 0);
    if (fresh) entry->second = 1 + next() % 1'000'000;
    if (entry->second >= best_priority) {
      best = i;
      best_priority = entry->second;
    }
  }
  if (chance(6)) priority_[candidates[best].stream] = 0;
  return best;
}

int Order::poll_burst() { return static_cast<int>(1 + next() % 16); }

int Order::burst() { return chance(10) ? static_cast<int>(1 + next() % 6) : 0; }

}  // namespace hirgen_cpu
