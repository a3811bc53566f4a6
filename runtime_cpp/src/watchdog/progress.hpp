// How far a rank has come, and the judgement over all ranks when one of them fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen {

/// How far a rank has come. Ranks send it with every heartbeat.
struct Progress {
  int64_t begun = 0;        ///< calls that the host has started to issue
  int64_t issued = 0;       ///< calls that it has issued whole
  int64_t completed = 0;    ///< calls that the device has completed
  uint64_t statements = 0;  ///< statements issued since the start, in calls or out of them
  std::string position;     ///< statement at which the host stands
};

/// What one rank knows of a rank (of itself too).
struct RankView {
  Progress progress;
  double silent_seconds = 0;  ///< since its last heartbeat
  bool left = false;          ///< said goodbye
  bool died = false;          ///< its connection closed without a goodbye
};

/// A rank's word that something failed, on itself or on another.
struct Failure {
  int reporter = 0;
  int suspect = -1;  ///< as Error::suspect
  Code code = Code::kInternal;
  std::string text;
};

/// Who is at fault. Rank 0 decides; every rank prints it.
struct Verdict {
  int culprit = -1;         ///< -1: no single rank is
  Code code = Code::kPeer;  ///< with which the culprit itself exits
  std::string text;         ///< "rank 2 died: ..."
};

/// A rank is taken to have stalled after this silence: half the deadline, so that it is
/// named before the calls that wait for it run out of time; at least a second.
double silence_limit(double timeout_seconds);

/// Judges. The order of evidence: a rank that died, one that reported its own failure, one
/// that is silent, one that others suspect, one that is behind all others; else none.
Verdict judge(const std::vector<RankView>& ranks, const std::vector<Failure>& failures,
              double timeout_seconds);

/// The code with which rank `rank` exits.
Code exit_code(const Verdict& verdict, int rank);

}  // namespace hirgen
