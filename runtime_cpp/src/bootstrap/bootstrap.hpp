// The start of a job: the other ranks come to rank 0, prove that they know the job's secret and say
// who they are; rank 0 checks that all fit together and tells everybody the outcome.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/identity.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// The other ranks wait so much longer than rank 0, which alone knows who is missing.
constexpr double kPatienceSeconds = 2;

/// A rank's two connections: one for the collective operations of its host thread, one for
/// its watchdog.
struct Connections {
  Socket data;
  Socket control;
};

/// Throws Error(kEnvironment) if several ranks are to have a secret and this one has none.
void check_secret(const ContextOptions& options);

/// Rank 0's side: the other ranks' connections by rank, rank 0's own not valid. Throws
/// Error(kEnvironment) when the port is taken and Error(kPeer) when ranks are missing at
/// the deadline or do not fit together; those who came are told the same message. Returns or
/// throws at the deadline, whoever else connects and whatever they send.
std::vector<Connections> receive_ranks(const ContextOptions& options, const Identity& identity);

/// Every other rank's side. Throws the message that rank 0 sends, or Error(kPeer, 0), or
/// Error(kEnvironment) if what answers does not know the job's secret.
Connections join_rank_zero(const ContextOptions& options, const Identity& identity);

}  // namespace hirgen
