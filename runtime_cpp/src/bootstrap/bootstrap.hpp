// The start of a job. The other ranks connect to rank 0, prove that they know the job's secret and
// send their identity. Rank 0 checks that all identities fit together and tells every rank the
// outcome.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/identity.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// The other ranks wait this much longer than rank 0: only rank 0 knows which ranks are missing,
/// and its message must reach them before their own deadline.
constexpr double kPatienceSeconds = 2;

/// A rank's two connections: one for the collective operations of its host thread, one for
/// its watchdog.
struct Connections {
  Socket data;
  Socket control;
};

/// Throws Error(kEnvironment) if a job of several ranks requires a secret and this rank has none.
void check_secret(const ContextOptions& options);

/// Starts the job on rank 0. Returns the other ranks' connections by rank; rank 0's own is not
/// valid. Throws Error(kEnvironment) if the port is taken or ranks do not fit together, and
/// Error(kPeer) if ranks are missing at the deadline. The ranks that came get the same message.
/// Returns or throws at most two seconds after the deadline, whatever other processes connect and
/// send.
std::vector<Connections> receive_ranks(const ContextOptions& options, const Identity& identity);

/// Starts the job on a rank other than 0. Throws the error that rank 0 sends, or Error(kPeer,
/// suspect 0) if rank 0 does not answer. Throws Error(kEnvironment) if the address does not
/// resolve, or if the process that answers there belongs to another job or does not know the
/// secret.
Connections join_rank_zero(const ContextOptions& options, const Identity& identity);

}  // namespace hirgen
