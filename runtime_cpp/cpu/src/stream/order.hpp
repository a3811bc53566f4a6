// Chooses the stream that runs next: the adversary behind HIRGEN_CPU_SEED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hirgen_cpu {

/// A stream whose first task could run now.
struct Candidate {
  uint64_t stream;  ///< id of the stream
  uint64_t age;     ///< global number of the task's submission: larger is later
};

/// Picks orders that streams and events allow, but that are rare on a GPU. The same seed and
/// candidates lead to the same picks.
///
/// Every few picks, it draws one of three strategies:
///  - newest first: the task that was submitted last runs first. If a wait is missing, the consumer
///    was submitted after its producer, so this inverts every pair that nothing orders.
///  - priorities: each stream has a random priority, the highest runnable one runs, and at
///    random change points it drops to the lowest (probabilistic concurrency testing).
///  - uniform: any runnable stream.
class Order {
 public:
  /// With seed 0, steps run as soon as they can: fifo() is true and pick() is not used.
  explicit Order(uint64_t seed) : state_(seed), fifo_(seed == 0) {}

  /// HIRGEN_CPU_SEED, or 0 if it is not set. Ends the process with code 3 if it is not a number.
  static uint64_t seed_from_environment();

  bool fifo() const { return fifo_; }

  /// The index of the candidate that runs next. Needs at least one candidate.
  size_t pick(const std::vector<Candidate>& candidates);

  /// The number of steps that may run while the host submits its next work. Mostly 0, so that work
  /// is held back until the host waits.
  int burst();
  /// The number of steps that may run when the host queries a result that is not ready. At least 1.
  int poll_burst();

 private:
  enum class Strategy { kNewestFirst, kPriorities, kUniform };
  uint64_t next();
  bool chance(uint64_t one_in) { return next() % one_in == 0; }
  void draw_strategy();
  size_t pick_newest(const std::vector<Candidate>& candidates) const;
  size_t pick_priority(const std::vector<Candidate>& candidates);

  uint64_t state_;
  bool fifo_;
  Strategy strategy_ = Strategy::kNewestFirst;
  bool drawn_ = false;
  std::map<uint64_t, uint64_t> priority_;
};

}  // namespace hirgen_cpu
