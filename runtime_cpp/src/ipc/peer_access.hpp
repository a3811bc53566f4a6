// Checks whether ranks can use each other's memory, and looks up the driver functions that this
// needs.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// The place of a rank, which decides whether two ranks can share memory.
struct Location {
  std::string host;    ///< name of the node or container, for messages
  std::string boot;    ///< id of the running kernel, the same in all containers of a node
  std::string bus_id;  ///< PCI bus id of the GPU
};

/// The reason why this rank, at `mine` with device ordinal `device`, cannot access the memory of a
/// rank at `theirs`; empty if it can.
std::string obstacle(const Location& mine, int device, const Location& theirs);

/// All ranks of the context: 0, 1, ... world - 1.
std::vector<int> all_ranks(const Context& context);

/// The locations of all ranks. Collective over all ranks.
std::vector<Location> locations_of_all(Context& context);

/// The first of `peers` that this rank cannot access, with the reason; empty if it can access all.
/// Peers may differ from rank to rank, and may include the rank itself.
std::string unreached(const Context& context, const std::vector<Location>& locations,
                      const std::vector<int>& peers);

/// Collective over all ranks: throws the same Error(kEnvironment) on every rank unless each can
/// access the memory of its `peers`.
void require_peer_access(Context& context, const std::vector<int>& peers, const char* where);

/// Throws Error(kEnvironment) if any rank has a problem; the message lists each distinct problem
/// once. `problems` has an entry for each rank; "" is no problem.
void agree(const std::vector<std::string>& problems, const char* where);

/// A driver function by its name, with the interface of CUDA 12.0. Throws Error(kEnvironment) if
/// the driver lacks it.
void* driver_entry(const char* name, const char* where);
template <typename Function>
Function driver_call(const char* name, const char* where) {
  return reinterpret_cast<Function>(driver_entry(name, where));
}

}  // namespace hirgen
