// The memory that the ranks of one communicator share. Only the rank to which a field belongs
// writes it, unless the comment of the field names other writers.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>

#include "memory/block.hpp"

namespace hirgen_cpu {

constexpr int kMaxRanks = 64;
constexpr uint64_t kSendDepth = 8;  ///< the most sends in flight from one rank to another

/// A buffer that a peer reads: its address in this process, and the block and offset by which other
/// processes map it.
struct BufferAddress {
  const void* pointer = nullptr;
  BlockAddress block;
  uint64_t offset = 0;
};

// clang-format off
/// row(name, whether it is a reduction, whether it has a root or peer)
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

/// The arguments of an operation on one rank; all ranks of a collective must post equal ones,
/// except for the buffers.
struct OpPost {
  OpKind kind;
  ncclDataType_t type;
  ncclRedOp_t reduction;  ///< ncclSum for operations without one
  int32_t root;           ///< the peer of a send or receive; 0 for operations without one
  uint64_t count;
  BufferAddress send, receive;
};

/// The part of one rank. `phase` is never reset: collective i, counted from 0, reserves kPhases
/// numbers, and has reached its phase p (1, 2 or 3) when `phase` is at least i * kPhases + p.
struct RankArea {
  std::atomic<uint32_t> process;  ///< pid of the rank; 0 until it has joined
  std::atomic<uint64_t> device;   ///< hash of host and device; written before `process`
  std::atomic<uint64_t> phase;
  OpPost post;  ///< of the current collective

  std::atomic<uint64_t> split_posted, split_created, split_done;  ///< rounds of ncclCommSplit
  int32_t split_color, split_key;
  BlockAddress split_area;  ///< written by the first rank of each colour
};
constexpr uint64_t kPhases = 4;

/// Messages from one rank to another, in order. The sender writes the slots and the number of
/// messages that it has `posted`; the receiver writes the number that it has `taken`.
struct PairArea {
  std::atomic<uint64_t> posted, taken;
  OpPost slots[kSendDepth];
};

/// The whole area. New memory is zero, which is the initial state of every field.
struct CommArea {
  std::atomic<uint32_t> bell;    ///< any rank: changes when waiting peers should check again
  std::atomic<uint32_t> ranks;   ///< any rank: size of the communicator, set by the first to join
  std::atomic<uint32_t> failed;  ///< any rank: 0; 1 while a rank writes `message`; then 2
  char message[1024];
  RankArea rank[kMaxRanks];
  PairArea pair[kMaxRanks][kMaxRanks];  ///< [from][to]

  /// Wakes all waiting ranks. They see all earlier writes of this rank.
  void ring();
};

}  // namespace hirgen_cpu
