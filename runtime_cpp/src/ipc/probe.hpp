// Which ranks of a program can share memory: found out by doing it.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// Which ranks share memory with a rank.
struct IpcPeers {
  std::vector<int> ranks;  ///< itself among them
  bool anywhere = false;   ///< some rank, on some node, can use the memory of a peer
  /// Why some rank cannot use the memory of one of its peers, in one line that is the same on
  /// every rank; empty if all can.
  std::string obstacle;
};

/// Collective over all ranks: those of a node are IPC peers if each of them can use the memory of
/// its `peers` there. So two ranks are each other's IPC peers or neither is, and all ranks know it.
/// Where nothing speaks against it, every rank opens a small allocation of each of those peers and
/// closes it again: a container can forbid just that. Peers may differ from rank to rank, and the
/// rank itself be among them.
IpcPeers find_ipc_peers(Context& context, const std::vector<int>& peers, const char* where);

}  // namespace hirgen
