// Finds out, by a trial, which ranks of a program can share memory.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// The ranks that share memory with a rank.
struct IpcPeers {
  std::vector<int> ranks;  ///< including the rank itself
  bool anywhere = false;   ///< some rank, on some node, can use the memory of a peer
  /// The reason why some rank cannot use the memory of one of its peers, in one line that is the
  /// same on every rank; empty if all can.
  std::string obstacle;
};

/// Collective over all ranks. The ranks of a node are IPC peers if each of them can use the memory
/// of its `peers` on the node. So the relation is symmetric, and all ranks know the result. If
/// nothing else prevents sharing, every rank opens a small allocation of each of its peers on the
/// node and closes it again: a container can forbid exactly that. Peers may differ from rank to
/// rank, and may include the rank itself.
IpcPeers find_ipc_peers(Context& context, const std::vector<int>& peers, const char* where);

}  // namespace hirgen
