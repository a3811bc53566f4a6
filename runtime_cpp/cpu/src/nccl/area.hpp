// The memory that the ranks of one communicator share. Only the rank that a field belongs to writes
// it, unless its comment names other writers.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>

#include "memory/block.hpp"

namespace hirgen_cpu {

constexpr int kMaxRanks = 64;
constexpr uint64_t kSendDepth = 8;  ///< sends posted ahead from one rank to another

/// A buffer that a peer reads: its address here, and how another process maps it.
struct BufferAddress {
  const void* pointer = nullptr;
  BlockAddress block;
  uint64_t offset = 0;
};

// clang-format off
/// row(name, whether ranks reduce, whether it names a rank)
#define HIRGEN_CPU_OPERATIONS(row) \
  row(AllGather, false, false) \
  row(ReduceScatter, true, false) \
  row(AllReduce, true, false) \
  row(Broadcast, false, true) \
  row(Reduce, true, true) \
  row(Send, false, true) \
  row(Recv, false, true)
// clang-format on

#define HIRGEN_CPU_KIND(name, ...) k##name,
enum class OpKind : uint32_t { HIRGEN_CPU_OPERATIONS(HIRGEN_CPU_KIND) };
#undef HIRGEN_CPU_KIND

/// The arguments of an operation on one rank; all ranks of a collective must post equal ones.
struct OpPost {
  OpKind kind;
  ncclDataType_t type;
  ncclRedOp_t reduction;  ///< ncclSum for operations without one
  int32_t root;           ///< the peer of a send or receive; 0 for operations without one
  uint64_t count;
  BufferAddress send, receive;
};

/// One rank's part. A collective has kPhases phases. `phase` counts the phases of all collectives,
/// so peers compare it with a target and it is never reset.
struct RankArea {
  std::atomic<uint32_t> process;  ///< pid once the rank has joined
  std::atomic<uint64_t> device;   ///< device and host of the rank; written before `process`
  std::atomic<uint64_t> phase;
  OpPost post;  ///< of the current collective

  std::atomic<uint64_t> split_posted, split_created, split_done;  ///< rounds of ncclCommSplit
  int32_t split_color, split_key;
  BlockAddress split_area;  ///< written by the first rank of each colour
};
constexpr uint64_t kPhases = 4;

/// Messages from one rank to another, in order. `posted` and the slots are the sender's, `taken`
/// is the receiver's.
struct PairArea {
  std::atomic<uint64_t> posted, taken;
  OpPost slots[kSendDepth];
};

/// The whole area. New memory is zero, which is the initial state of every field.
struct CommArea {
  std::atomic<uint32_t> bell;    ///< any rank: changes when a waiting peer should look again
  std::atomic<uint32_t> ranks;   ///< any rank: size of the communicator, set by the first to join
  std::atomic<uint32_t> failed;  ///< any rank: 0, then 1 (message being written), then 2
  char message[1024];
  RankArea rank[kMaxRanks];
  PairArea pair[kMaxRanks][kMaxRanks];  ///< [from][to]

  /// Wakes all waiting ranks. They see all earlier writes of this rank.
  void ring();
};

}  // namespace hirgen_cpu
