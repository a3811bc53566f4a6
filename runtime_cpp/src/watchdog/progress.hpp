// The progress of a rank, and the judgement over all ranks when one of them fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen {

/// The progress of a rank. Ranks send it with every heartbeat.
struct Progress {
  int64_t begun = 0;        ///< calls that the host has started to issue
  int64_t issued = 0;       ///< calls that the host has issued completely
  int64_t completed = 0;    ///< calls that the device has completed
  uint64_t statements = 0;  ///< statements begun in this call or before call 1; 0 between calls
  std::string position;     ///< statement that the host has begun last
};

/// The information that a rank has about another rank or about itself.
struct RankView {
  Progress progress;
  double silent_seconds = 0;  ///< time since its last message
  bool left = false;          ///< it sent a goodbye
  bool died = false;          ///< its connection closed without a goodbye
};

/// A rank's report that this rank or another rank failed.
struct Failure {
  int reporter = 0;
  int suspect = -1;  ///< the rank it suspects; -1: unknown
  Code code = Code::kInternal;
  std::string text;
};

/// The rank at fault. Rank 0 decides and tells the others. Another rank decides alone if rank 0 has
/// left, is lost or does not answer in time. A rank that did not run for a long time blames itself.
struct Verdict {
  int culprit = -1;         ///< the rank at fault; -1: no single rank
  Code code = Code::kPeer;  ///< exit code of the culprit, or of all ranks if there is none
  std::string text;         ///< "rank 2 died: ..."
};

/// The silence in seconds after which a rank counts as stalled: half the deadline, but at least a
/// second. With deadlines above 2 s, the rank is named before calls that wait for it exceed the
/// deadline.
double silence_limit(double timeout_seconds);

/// Finds the culprit. Looks in this order for a rank that died, reported its own failure, is
/// silent, is suspected by others, or lags behind every other rank. If there is none, the culprit
/// is -1.
Verdict judge(const std::vector<RankView>& ranks, const std::vector<Failure>& failures,
              double timeout_seconds);

/// The exit code of rank `rank`: the verdict's code if the rank is the culprit, or if there is no
/// culprit; else kPeer.
Code exit_code(const Verdict& verdict, int rank);

}  // namespace hirgen
