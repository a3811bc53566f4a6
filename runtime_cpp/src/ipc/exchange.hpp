// The exchange of CUDA IPC handles: ranks open the memory that their peers export.
#pragma once

#include <cstdint>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/ipc.hpp"

namespace hirgen {

/// The memory that a rank exports.
struct Exported {
  void* buffer;
  void* flags;
  SharedShape shape;
};

/// The addresses of a rank's memory in this process; for this rank itself, its original pointers.
struct Mapped {
  void* buffer = nullptr;
  void* flags = nullptr;
};

/// Allocates `count` flags by cudaMalloc, all zero when this returns.
void* make_flags(Context& context, int64_t count, const char* where);

/// Collective over `ranks`; each of them passes these ranks in the same order. Returns their
/// buffers and flags by world rank, with nulls for other ranks. `opened` gets an entry for each
/// opened base address. Throws the same Error(kEnvironment) on each of `ranks` if one of them
/// cannot export or open memory.
std::vector<Mapped> exchange(Context& context, const std::vector<int>& ranks, const Exported& mine,
                             std::vector<void*>* opened);

}  // namespace hirgen
