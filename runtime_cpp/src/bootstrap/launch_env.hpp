// Reads the rank, world and rendezvous of this process from its launcher's variables. Rank and
// world come from one family of variables. If they are missing or inconsistent, the error shows the
// command line to type. A rank is never guessed, because a wrong guess makes all other ranks wait.
// If neither the number of nodes nor an address is given, all ranks are assumed to be on this node.
#pragma once

#include <functional>
#include <string>

#include "hirgen/context.hpp"
#include "hirgen/program.hpp"

namespace hirgen {

/// Reads one environment variable; null if it is not set.
using Getenv = std::function<const char*(const char*)>;

/// The rank, world and rendezvous that the launcher's variables give.
struct Launch {
  std::string family;  ///< name of the launcher for messages, such as "torchrun"
  int rank = 0;
  int world = 1;
  int local_rank = -1;  ///< -1: not given
  std::string address;  ///< host of rank 0; empty: not given
  int port = 0;         ///< 0: not given
  std::string job;      ///< id of the job, the same on all ranks; may be empty
  std::string secret;   ///< known to the job's ranks only; empty: none is given
  std::string hint;     ///< end of the error if ranks do not meet: assumptions, variables to set
};

/// Reads the variables. `program` appears in the command lines to type. `parent` is the id of the
/// parent process, from which local ranks that have neither a port nor a job id derive a port.
/// Throws Error(kEnvironment).
Launch read_launch(const Getenv& get, const std::string& program, int parent);

/// The options of a rank of `info` for this launch. HIRGEN_JOB_SECRET is used if the launch has no
/// secret. Throws Error(kEnvironment) if several ranks have no address or port to meet at.
ContextOptions context_options(const Launch& launch, const ProgramInfo& info,
                               double timeout_seconds);

/// The options from the environment of this process.
ContextOptions options_from_environment(const ProgramInfo& info, double timeout_seconds);

}  // namespace hirgen
