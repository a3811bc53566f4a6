// Which ranks of a program can share memory: found out by doing it.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// Who shares memory with a rank.
struct Neighbours {
  std::vector<int> ranks;  ///< itself among them
  bool anywhere = false;   ///< some rank, on some host, can use the memory of a peer
  /// Why some rank cannot use the memory of one of its peers, in one line that is the same on
  /// every rank; empty if all can.
  std::string obstacle;
};

/// Collective over all ranks: those of a host are neighbours if each of them can use the memory of
/// its `peers` there. So two ranks are each other's neighbours or neither is, and all ranks know
/// it. Where nothing speaks against it, every rank opens a small allocation of each of those peers
/// and closes it again: a container can forbid just that. Peers may differ from rank to rank, and
/// the rank itself be among them.
Neighbours find_neighbours(Context& context, const std::vector<int>& peers, const char* where);

}  // namespace hirgen
