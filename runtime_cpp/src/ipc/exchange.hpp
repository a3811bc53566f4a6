// The exchange of CUDA IPC handles: what each rank exports is opened by those that share it.
#pragma once

#include <cstdint>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/ipc.hpp"

namespace hirgen {

/// What a rank gives.
struct Exported {
  void* buffer;
  void* flags;
  SharedShape shape;
};

/// What this process has of a rank; its own pointers for itself.
struct Mapped {
  void* buffer = nullptr;
  void* flags = nullptr;
};

/// `count` flags of device memory, all zero when this returns.
void* make_flags(Context& context, int64_t count, const char* where);

/// Collective over `ranks`, in any order that is the same on each of them: their buffers and flags,
/// by world rank. The bases that were opened go to `opened`, one for each time. Throws the same
/// Error(kEnvironment) on each of `ranks` if one cannot export or open.
std::vector<Mapped> exchange(Context& context, const std::vector<int>& ranks, const Exported& mine,
                             std::vector<void*>* opened);

}  // namespace hirgen
