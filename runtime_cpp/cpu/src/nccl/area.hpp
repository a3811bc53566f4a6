// The memory that the ranks of one communicator share. Only the rank to which a field belongs
// writes it, unless the comment of the field names other writers.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>

#include "memory/block.hpp"

namespace hirgen_cpu {

constexpr int kMaxRanks = 64;
constexpr uint64_t kSendDepth = 8;  ///< most untaken messages from one rank to another

/// A buffer that peers read: its address in the process of its rank, and the block and the offset
/// in bytes through which other processes map it.
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

/// The fields of one rank. `phase` is never reset. Collective i, counted from 0, reserves kPhases
/// numbers: the rank has reached phase p (1, 2 or 3) of the collective when `phase` is at least i *
/// kPhases + p.
struct RankArea {
  std::atomic<uint32_t> process;  ///< pid of the rank; 0 until it has joined
  std::atomic<uint64_t> device;   ///< hash of host and device; written before `process`
  std::atomic<uint64_t> phase;
  OpPost post;  ///< of the current collective

  std::atomic<uint64_t> split_posted, split_created, split_done;  ///< calls of ncclCommSplit
  int32_t split_color, split_key;
  BlockAddress split_area;  ///< written by the first rank of each colour
};
constexpr uint64_t kPhases = 4;

/// The messages from one rank to another. Message n, counted from 0, uses slot n modulo kSendDepth.
/// The sender writes the slots, and counts in `posted` the messages that it has posted. The
/// receiver counts in `taken` the messages that it has copied.
struct PairArea {
  std::atomic<uint64_t> posted, taken;
  OpPost slots[kSendDepth];
};

/// The whole shared memory of a communicator. New memory is zero, which is the initial state of
/// every field.
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
