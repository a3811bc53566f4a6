// Chooses the transport of a program that has two variants: CUDA IPC on all ranks, or CUDA IPC
// within nodes and NCCL between them.
#pragma once

#include <memory>
#include <string>

#include "hirgen/program.hpp"

namespace hirgen {

/// Checks the value of --transport or HIRGEN_TRANSPORT: "auto", "ipc" or "nccl". Throws
/// Error(kUsage), which names `source`, for any other value.
void check_transport(const std::string& source, const std::string& asked);

/// A program and its transport.
struct MadeProgram {
  std::unique_ptr<Program> program;
  std::string transport;  ///< "nccl", "ipc-get", "ipc-get within nodes, nccl between them", ...
};

/// Makes the program of a table. Collective: all ranks make the same variant. If there are two
/// variants, "auto" takes CUDA IPC alone if every rank can use the memory of its peers. Otherwise
/// it takes CUDA IPC within the nodes whose ranks can share memory, and NCCL between other ranks,
/// and rank 0 prints the reason. With "nccl", no rank uses the memory of another rank.
///
/// If `asked` is empty, HIRGEN_TRANSPORT decides, or else "auto". Throws Error(kUsage) if the
/// program lacks the requested variant, or if it has two and ranks request different ones.
MadeProgram make_program(Context& context, const ProgramTable& table, const std::string& asked);

}  // namespace hirgen
