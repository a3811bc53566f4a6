// The identity that a rank sends when it joins, and the check that all ranks fit together.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/wire.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// One rank's identity: properties that must be equal, or different, on all ranks, and where the
/// rank runs, for messages.
struct Identity {
  uint32_t protocol = kProtocol;  ///< version of the rendezvous and control messages
  int rank = 0;
  int world = 1;
  int mesh_size = 1;
  int nccl_version = 0;
  int pid = 0;
  std::string job;      ///< id of the job; rank 0 refuses the ranks of other jobs
  std::string program;  ///< name of the program
  std::string digest;
  std::string parameters;
  std::string host;
  std::string device;   ///< PCI bus id of its GPU; empty if ranks may share it or `problem` is set
  std::string problem;  ///< why this rank cannot run, "" if it can; all ranks report it

  static constexpr uint32_t kProtocol = 2;
};

/// The identity of this process without `device` and `problem`.
Identity identify(const ContextOptions& options, int nccl_version);

void write_identity(Writer& writer, const Identity& identity);
Identity read_identity(Reader& reader);

/// The rank as text, for messages: "rank 2 (node7, pid 4711)".
std::string describe(const Identity& identity);

/// Returns "" if these ranks can run together, and otherwise one line for each problem. `ranks[0]`
/// is rank 0, with which the others are compared. Other ranks may be missing.
std::string find_misfits(const std::vector<Identity>& ranks);

}  // namespace hirgen
