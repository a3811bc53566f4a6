// Whether the ranks of a program can share memory: found out by doing it.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// Collective over all ranks: why some rank cannot use the memory of one of its `peers`, in one
/// line that is the same on every rank; empty if all can. Where nothing speaks against it, every
/// rank opens a small allocation of each peer and closes it again: a container can forbid just
/// that. Peers may differ from rank to rank, and the rank itself be among them.
std::string sharing_obstacle(Context& context, const std::vector<int>& peers, const char* where);

}  // namespace hirgen
