// What carries the transfers of a program that is there twice: over CUDA IPC, and over that within
// nodes and NCCL between them.
#pragma once

#include <memory>
#include <string>

#include "hirgen/program.hpp"

namespace hirgen {

/// What a user may ask for, as --transport and HIRGEN_TRANSPORT spell it: "auto", "ipc" or
/// "nccl". Throws Error(kUsage), which names `source`, for anything else.
void check_transport(const std::string& source, const std::string& asked);

/// A program, and what its transfers go over.
struct MadeProgram {
  std::unique_ptr<Program> program;
  std::string transport;  ///< "nccl", "ipc-get", "ipc-get within nodes, nccl between them", ...
};

/// Collective: makes the program of a table; all ranks make the same one. Where it is there
/// twice, "auto" takes CUDA IPC alone if every rank can use the memory of those that it exchanges
/// with, and otherwise CUDA IPC within nodes and NCCL between them; rank 0 then says why. With
/// "nccl" no rank uses the memory of another one. `asked` is empty for what
/// HIRGEN_TRANSPORT says, or "auto". Throws Error(kUsage) where the program does not have what is
/// asked for, or where ranks are asked for different things.
MadeProgram make_program(Context& context, const ProgramTable& table, const std::string& asked);

}  // namespace hirgen
