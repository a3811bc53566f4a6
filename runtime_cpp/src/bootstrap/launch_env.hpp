// Rank, world and rendezvous of this process from its launcher's variables. One family of
// variables at a time, complete and consistent; anything else is an error that shows the
// line to type. Never a default for who a rank is: one that guesses makes all others wait. Where
// nothing says how many nodes there are, and no address is given, there is one.
#pragma once

#include <functional>
#include <string>

#include "hirgen/context.hpp"
#include "hirgen/program.hpp"

namespace hirgen {

/// Reads one environment variable; null if it is not set.
using Getenv = std::function<const char*(const char*)>;

/// What the launcher says.
struct Launch {
  std::string family;  ///< "torchrun", for messages
  int rank = 0;
  int world = 1;
  int local_rank = -1;  ///< -1: not said
  std::string address;  ///< host of rank 0; empty: not said
  int port = 0;         ///< 0: not said
  std::string job;      ///< id of the job, the same on all ranks; may be empty
  std::string secret;   ///< what only the job's ranks know; empty: none is given
  std::string hint;     ///< for ranks that do not meet: what was assumed, and what to set
};

/// Reads the variables; `program` appears in the lines to type, `parent` is the parent's
/// process id, which the local ranks of a job without an id have in common. Throws
/// Error(kEnvironment).
Launch read_launch(const Getenv& get, const std::string& program, int parent);

/// The options of a rank of `info` launched so; HIRGEN_JOB_SECRET counts where the launch has no
/// secret. Throws Error(kEnvironment) if several ranks have no address to meet at.
ContextOptions context_options(const Launch& launch, const ProgramInfo& info,
                               double timeout_seconds);

/// Both, from the environment of this process.
ContextOptions options_from_environment(const ProgramInfo& info, double timeout_seconds);

}  // namespace hirgen
