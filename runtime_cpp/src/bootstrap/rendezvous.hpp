// Connects the ranks of a program, and exchanges data between them before, between and after calls:
// over a star of TCP connections to rank 0, with a deadline for every operation. During a call, it
// is used only to share new buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/identity.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// One rank's end of these connections. The operations are collective: every rank calls all of them
/// in the same order. `what` names the operation in messages. Operations throw Error(kInternal) if
/// `what` differs between ranks, and Error(kPeer, suspect) if a rank is gone or does not come
/// within the deadline.
class Rendezvous {
 public:
  /// Connects, and checks that all ranks fit together (find_misfits) before anything else is
  /// shared. If they do not fit, or some are missing at the deadline, every rank that came throws
  /// the same message.
  Rendezvous(const ContextOptions& options, const Identity& identity);

  /// Returns `mine` of every rank, by rank.
  std::vector<std::string> allgather(const std::string& mine, const char* what);
  /// Returns, on rank 0, `mine` of every rank, by rank; on other ranks, an empty vector.
  std::vector<std::string> gather(const std::string& mine, const char* what);
  /// Returns rank 0's `mine` on every rank.
  std::string broadcast(const std::string& mine, const char* what);
  /// Returns after every rank has called it.
  void barrier(const char* what);
  /// max() returns the largest `mine` of all ranks, sum() their sum; both on every rank.
  double max(double mine, const char* what);
  int64_t sum(int64_t mine, const char* what);

  /// Ends the current and all later operations of this rank: they throw kPeer. Called
  /// from a thread that runs no operation.
  void interrupt() const;

  /// The connections of the watchdog. Rank 0 gets them by rank (its own is not valid), other ranks
  /// get only the connection to rank 0. Call this once.
  std::vector<Socket> take_control() { return std::move(control_); }

 private:
  /// Starts the next operation and returns its deadline.
  Deadline begin();
  void send_to(int rank, const std::string& payload, const char* what, Deadline deadline);
  std::string receive_from(int rank, const char* what, Deadline deadline);

  int rank_;
  int world_;
  double timeout_;
  uint32_t sequence_ = 0;      ///< number of the current operation, from 1
  std::vector<Socket> peers_;  ///< on rank 0: all, by rank; elsewhere: only rank 0
  std::vector<Socket> control_;
};

}  // namespace hirgen
