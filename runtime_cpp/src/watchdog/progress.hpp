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
  int64_t issued = 0;       ///< calls that it has issued completely
  int64_t completed = 0;    ///< calls that the device has completed
  uint64_t statements = 0;  ///< statements issued since the start, inside and outside of calls
  std::string position;     ///< statement that the host is issuing
};

/// The information that one rank has about a rank, itself included.
struct RankView {
  Progress progress;
  double silent_seconds = 0;  ///< since its last heartbeat
  bool left = false;          ///< said goodbye
  bool died = false;          ///< its connection closed without a goodbye
};

/// A rank's report of a failure, on itself or on another rank.
struct Failure {
  int reporter = 0;
  int suspect = -1;  ///< as Error::suspect
  Code code = Code::kInternal;
  std::string text;
};

/// The rank at fault. Rank 0 decides; every rank prints it.
struct Verdict {
  int culprit = -1;         ///< -1: no single rank
  Code code = Code::kPeer;  ///< the exit code of the culprit itself
  std::string text;         ///< "rank 2 died: ..."
};

/// The silence after which a rank counts as stalled: half the deadline, at least a second. So the
/// rank is named before calls that wait for it exceed the deadline.
double silence_limit(double timeout_seconds);

/// Finds the culprit. Evidence in this order: a rank that died, reported its own failure, is
/// silent, is suspected by others, or is later than all others. Without evidence, no rank.
Verdict judge(const std::vector<RankView>& ranks, const std::vector<Failure>& failures,
              double timeout_seconds);

/// The exit code of rank `rank`.
Code exit_code(const Verdict& verdict, int rank);

}  // namespace hirgen
