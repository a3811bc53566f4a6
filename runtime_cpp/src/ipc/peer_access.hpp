// Whether ranks can reach each other's memory, and the driver calls that this takes.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// What decides whether two ranks can share memory.
struct Location {
  std::string host;    ///< its name, for messages
  std::string boot;    ///< one running kernel: containers of one node have it in common
  std::string bus_id;  ///< of the GPU
};

/// Why the GPU `mine`, which is device `device` of this process, cannot reach the memory of a
/// rank at `theirs`; empty if it can.
std::string obstacle(const Location& mine, int device, const Location& theirs);

/// 0, 1, ... world - 1.
std::vector<int> all_ranks(const Context& context);

/// Collective over all ranks: the locations of all of them.
std::vector<Location> locations_of_all(Context& context);

/// Which of its `peers` this rank cannot reach, and why; empty if it reaches all. Peers may differ
/// from rank to rank, and the rank itself be among them.
std::string unreached(const Context& context, const std::vector<Location>& locations,
                      const std::vector<int>& peers);

/// Collective over all ranks: throws the same Error(kEnvironment) on every rank unless each can
/// reach its `peers`.
void require_peer_access(Context& context, const std::vector<int>& peers, const char* where);

/// Throws Error(kEnvironment) if any rank has a problem (not ""); `problems` is one for each.
void agree(const std::vector<std::string>& problems, const char* where);

/// A driver function by its name, as CUDA 12 has it.
void* driver_entry(const char* name, const char* where);
template <typename Function>
Function driver_call(const char* name, const char* where) {
  return reinterpret_cast<Function>(driver_entry(name, where));
}

}  // namespace hirgen
