// How the ranks of a program find each other and exchange what they need before, between
// and after calls: a star of TCP connections through rank 0, with a deadline on everything.
// Nothing here is on the path of a call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/identity.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// One rank's end. The operations are collective: every rank makes the same ones in the
/// same order; `what` names the operation in messages and is checked to be equal. They
/// throw Error(kPeer, suspect) when a rank is gone or does not come within the deadline.
class Rendezvous {
 public:
  /// Connects, and checks that all ranks fit together (find_misfits) before anything else
  /// is shared; every rank throws the same message if they do not. If ranks are missing at
  /// the deadline, rank 0 says which came.
  Rendezvous(const ContextOptions& options, const Identity& identity);

  /// `mine` of every rank, by rank.
  std::vector<std::string> allgather(const std::string& mine, const char* what);
  /// `mine` of every rank, by rank, on rank 0; empty elsewhere.
  std::vector<std::string> gather(const std::string& mine, const char* what);
  /// Rank 0's `mine`, on every rank.
  std::string broadcast(const std::string& mine, const char* what);
  /// Returns when every rank has come.
  void barrier(const char* what);
  /// Largest and sum of `mine` over all ranks.
  double max(double mine, const char* what);
  int64_t sum(int64_t mine, const char* what);

  /// Ends what another thread waits for here, and what it will: kPeer.
  void interrupt() const;

  /// The connections of the watchdog: by rank on rank 0 (its own is not valid), the one to
  /// rank 0 alone elsewhere. Once.
  std::vector<Socket> take_control() { return std::move(control_); }

 private:
  /// Starts the next operation and returns its deadline.
  Deadline begin();
  void send_to(int rank, const std::string& payload, const char* what, Deadline deadline);
  std::string receive_from(int rank, const char* what, Deadline deadline);

  int rank_;
  int world_;
  double timeout_;
  uint32_t sequence_ = 0;      ///< of the operation under way
  std::vector<Socket> peers_;  ///< by rank on rank 0; rank 0 alone elsewhere
  std::vector<Socket> control_;
};

}  // namespace hirgen
