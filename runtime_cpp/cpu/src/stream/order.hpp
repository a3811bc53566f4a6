// Chooses the stream that runs next if HIRGEN_CPU_SEED is not 0. The choices are adversarial, so
// that a program with a missing wait is likely to compute wrong results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hirgen_cpu {

/// A stream whose first task could run now.
struct Candidate {
  uint64_t stream;  ///< id of the stream
  uint64_t age;     ///< number of the task's submission among all streams: larger is later
};

/// Picks orders that streams and events allow, but that are rare on a GPU. The same seed and the
/// same calls lead to the same picks.
///
/// The first pick, and then each pick with probability 1/24, draws one of three strategies:
///  - newest first (probability 5/8): the task that was submitted last runs first. A consumer is
///    submitted after its producer, so without a wait between them the consumer runs first.
///  - priorities (2/8): each stream has a random priority, and the runnable stream with the highest
///    one runs. At random change points that stream gets the lowest priority (probabilistic
///    concurrency testing).
///  - uniform (1/8): any runnable stream.
class Order {
 public:
  /// With seed 0, steps run as soon as they can: fifo() is true and pick() is not used.
  explicit Order(uint64_t seed) : state_(seed), fifo_(seed == 0) {}

  /// Returns HIRGEN_CPU_SEED, or 0 if it is unset or empty. Ends the process with code 3 if it is
  /// not a number.
  static uint64_t seed_from_environment();

  bool fifo() const { return fifo_; }

  /// Returns the index of the candidate that runs next. There must be at least one candidate.
  size_t pick(const std::vector<Candidate>& candidates);

  /// Returns the number of steps that may run when the host submits a task. It is 0 with
  /// probability 9/10, so that most work is held back until the host waits, and 1 to 6 otherwise.
  int burst();
  /// Returns the number of steps that may run when the host queries a result that is not ready: 1
  /// to 16.
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
