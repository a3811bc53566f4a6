// ncclCommSplit: the ranks of a communicator agree on new communicators, through the memory that
// they share.
#include <algorithm>

#include "core/device.hpp"
#include "nccl/comm.hpp"

using namespace hirgen_cpu;

namespace {

/// Returns the parent's ranks with this colour, sorted by key; ranks with equal keys are sorted by
/// rank.
std::vector<int> members_of_split(const Comm& parent, int color) {
  std::vector<int> members;
  for (int r = 0; r < parent.size; ++r) {
    if (parent.area().rank[r].split_color == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return parent.area().rank[a].split_key < parent.area().rank[b].split_key;
  });
  return members;
}

/// Waits until every rank has reached `round` in one of the split counters.
void wait_for_round(const Comm& parent, uint64_t round, std::atomic<uint64_t> RankArea::* counter) {
  parent.wait_for_peers([&] {
    for (int r = 0; r < parent.size; ++r) {
      if ((parent.area().rank[r].*counter).load(std::memory_order_acquire) < round) return false;
    }
    return true;
  });
}

void post_round(const Comm& parent, uint64_t round, std::atomic<uint64_t> RankArea::* counter) {
  (parent.mine().*counter).store(round, std::memory_order_release);
  parent.area().ring();
}

/// The host-side part of ncclCommSplit; `child` is null for a rank without a colour.
void split(Comm& parent, uint64_t round, int color, int key, Comm* child) {
  parent.mine().split_color = color;
  parent.mine().split_key = key;
  post_round(parent, round, &RankArea::split_posted);
  wait_for_round(parent, round, &RankArea::split_posted);
  std::vector<int> members = members_of_split(parent, color);
  if (child != nullptr && members[0] == parent.rank) {
    parent.mine().split_area = create_area()->address();
  }
  post_round(parent, round, &RankArea::split_created);
  wait_for_round(parent, round, &RankArea::split_created);
  if (child != nullptr) {
    auto index = std::find(members.begin(), members.end(), parent.rank) - members.begin();
    child->join(open_area(parent.area().rank[members[0]].split_area), static_cast<int>(index),
                static_cast<int>(members.size()), &parent);
  }
  post_round(parent, round, &RankArea::split_done);  // then all may write their fields again
  wait_for_round(parent, round, &RankArea::split_done);
}

}  // namespace

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  return nccl_api("ncclCommSplit", [&] {
    nccl_require(newcomm != nullptr, "null result");
    nccl_require(color >= 0 || color == NCCL_SPLIT_NOCOLOR, "a colour is not negative");
    check_config(config);
    std::shared_ptr<Comm> parent = comm_of(comm);
    parent->settle();
    uint64_t round = ++parent->split_round;
    *newcomm = nullptr;
    if (color == NCCL_SPLIT_NOCOLOR) {
      Comm* raw = parent.get();
      return start(parent, [=] { split(*raw, round, color, key, nullptr); });
    }
    auto child = std::make_shared<Comm>(parent->device, is_blocking(config, parent->blocking));
    *newcomm = publish(child);
    Comm* raw = child.get();
    return start(child, [=] { split(*parent, round, color, key, raw); });
  });
}
