// Memory that the ranks of one node share through CUDA IPC, and the flags that order its use. The
// emitted program writes flags and waits for them on its streams (flags.hpp, transfers.hpp). During
// a call, the host waits for other ranks only to share new memory.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/flag_waits.hpp"
#include "hirgen/flags.hpp"
#include "hirgen/mesh.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// One shared buffer. It has the memory of each rank, at the address where this process maps it.
/// Each rank also has a ready flag and a done flag for each transfer of a call, or for each row of
/// each transfer (see rows()). Flags hold sequence numbers, which only grow (modulo 2^32). Ranks
/// are numbered as in the world. On a rank that does not share the buffer, there is no memory and
/// there are no flags: call member functions only on ranks that share it.
///
/// All calls of a program count sequence numbers in the same way: on the host, or in a program with
/// CUDA graphs by a counter in device memory.
class Shared {
 public:
  /// Returns the memory of `rank`; null if `rank` does not share the buffer.
  template <typename T>
  T* of(int64_t rank) const {
    return static_cast<T*>(buffers_[static_cast<size_t>(rank)]);
  }
  /// Return the addresses of the flags of transfer i (from 0) that this rank waits for, and note
  /// the wait in FlagWaits. The ready flag says that the peer's buffer is ready, the done flag that
  /// the peer's copy is done. In a RowExchange, i is the number of the transfer times rows(), plus
  /// the row.
  CUdeviceptr ready(int64_t i) const { return awaited(waits_->ready, i, 0); }
  CUdeviceptr done(int64_t i) const { return awaited(waits_->done, i, transfers_); }
  /// Return the addresses of the flags of transfer i in the memory of `rank`. This rank writes the
  /// ready flag when its own buffer is ready, and the done flag when its own copy is done.
  CUdeviceptr ready_at(int64_t rank, int64_t i) const {
    waits_->done[static_cast<size_t>(i)].peer = static_cast<int>(rank);
    return flag(rank, i);
  }
  CUdeviceptr done_at(int64_t rank, int64_t i) const {
    waits_->ready[static_cast<size_t>(i)].peer = static_cast<int>(rank);
    return flag(rank, transfers_ + i);
  }
  /// The name of the tensor.
  const std::string& name() const { return waits_->name(); }
  /// The sequence number of the current call, the value that the call writes to flags: the number
  /// of calls so far that use the buffer, including this one. 0 if the device counts the calls; see
  /// sequence_number().
  uint32_t sequence() const { return sequence_; }
  /// The position of the tensor in the spec.
  const char* where() const { return where_; }
  /// The size of one rank's buffer in bytes.
  size_t bytes() const { return bytes_; }
  /// The number of rows of a transfer, if a RowExchange sends them; 0 otherwise.
  int64_t rows() const { return rows_; }
  /// The address, in this rank's memory, of an array with a word for each row, in which the kernel
  /// of the RowExchange counts its calls.
  uint32_t* calls_of_rows() const { return pointer(flag(rank_, 2 * transfers_)); }
  /// sequence() for kernels, which can also read a counter in device memory.
  SequenceNumber sequence_number() const { return {sequence_, counter_}; }
  /// Returns the flags of transfer i, in which this rank copies from or to the memory of `peer`.
  TransferFlags flags(int64_t peer, int64_t i) const {
    return {ready(i), done_at(peer, i), pointer(flag(rank_, 2 * transfers_ + i)),
            sequence_number()};
  }

 private:
  friend class Peers;
  /// The number of 32-bit words that one rank allocates: the ready flags, the done flags and the
  /// counts of blocks (see TransferFlags) of all transfers, then the counter of calls. In a
  /// RowExchange, each row of a transfer counts as a transfer, and the words of calls_of_rows()
  /// take the place of the counts of blocks.
  static int64_t flag_count(int64_t transfers) { return 3 * transfers + 1; }
  CUdeviceptr flag(int64_t rank, int64_t i) const {
    return flags_[static_cast<size_t>(rank)] + static_cast<CUdeviceptr>(i) * sizeof(uint32_t);
  }
  // Returns the address of a flag that this rank waits for, and notes the wait. done_at() and
  // ready_at() note which rank writes the flag: in a transfer, two ranks write each other's flags.
  CUdeviceptr awaited(std::vector<FlagWaits::Entry>& entries, int64_t i, int64_t first) const {
    entries[static_cast<size_t>(i)].awaited = sequence_;
    return flag(rank_, first + i);
  }
  static uint32_t* pointer(CUdeviceptr flag) {
    return reinterpret_cast<uint32_t*>(flag);  // NOLINT(performance-no-int-to-ptr)
  }

  std::vector<void*> buffers_;      // by rank; null for ranks that do not share it
  std::vector<CUdeviceptr> flags_;  // by rank: its ready flags, done flags, counts and counter
  const char* where_ = "";
  size_t bytes_ = 0;
  int64_t transfers_ = 0;
  int64_t rows_ = 0;
  int64_t rank_ = 0;
  uint32_t sequence_ = 0;
  uint32_t* counter_ = nullptr;       // of calls; null if the host counts them
  std::shared_ptr<FlagWaits> waits_;  // null on a rank that does not share the buffer
};

/// The size, transfers and ranks of a shared buffer. This rank shares it with the IPC peers along a
/// mesh axis, or with all IPC peers.
struct SharedShape {
  size_t bytes;                ///< size of one rank's buffer
  int64_t transfers;           ///< number of transfers in a call; each has a ready and a done flag
  const char* name;            ///< of the tensor
  const char* where;           ///< position in the spec; a string that outlives the program
  int64_t rows = 0;            ///< rows of a transfer, each with flags, in a RowExchange; else 0
  const Mesh* mesh = nullptr;  ///< null: all IPC peers share the buffer
  int axis = 0;                ///< axis of `mesh` along which the sharing ranks lie
};

/// Returns the IPC peers (Context::ipc_peers) with which this rank shares any of the buffers,
/// including itself; empty on a rank that shares none. If `shapes` is empty, returns all IPC peers.
std::vector<int> sharers(const Context& context, const std::vector<SharedShape>& shapes);

/// The buffers that a program shares with its IPC peers. All ranks must share the same buffers in
/// the same order.
///
/// A buffer of the program is shared once, when the program is made. A buffer of the caller is
/// shared by the first call that passes it. In that call, all ranks of the shape must pass a buffer
/// that is new to them. Later, all of them must change buffers in the same calls. Each buffer has
/// its own flags. So ranks that break this rule wait for each other until the deadline, but never
/// compute on the wrong buffer. The caller's buffer must come from cudaMalloc, and stay allocated
/// until the program is destroyed.
///
/// A rank that is not among the ranks of a shape shares nothing: on this rank, share(),
/// share_for_call() and share_for_graph() return a Shared without memory.
class Peers {
 public:
  /// Collective over all ranks. `shapes` describes all buffers that will be shared; if it is empty,
  /// all IPC peers share all buffers. Throws Error(kEnvironment) with the reason, on every rank, if
  /// two ranks that share a buffer cannot access each other's memory.
  Peers(Context& context, const char* where, const std::vector<SharedShape>& shapes = {});
  /// Collective over all ranks, unless one has failed: waits for all calls and until every rank has
  /// closed the memory that it opened, then frees the flags. The buffers may be freed afterwards.
  /// After a failure, the context takes over the opened memory and the stream, and the flags are
  /// not freed.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// The stream of this rank's copies over CUDA IPC, with the highest priority. These copies run
  /// one after another in the order of issue. Concurrent copies would share the bandwidth of one
  /// link, so even the first of them would end late. Kernels that exchange rows run on other
  /// streams.
  cudaStream_t copies() const { return copies_; }
  /// Returns whether `rank` is an IPC peer, whose shared memory this rank can access.
  bool is_ipc_peer(int64_t rank) const { return is_ipc_peer_[static_cast<size_t>(rank)]; }
  const StreamMemory& memory() const { return memory_; }

  /// Shares `own`, memory of Context::allocate() that `shape` describes. Like all sharing below,
  /// this is collective over those ranks of the shape that are IPC peers, and blocks the host.
  Shared& share(void* own, const SharedShape& shape);
  /// Increments the sequence number of the shared buffer, and returns the buffer for use in the
  /// current call. If the buffer is new, shares it first, which blocks the host.
  const Shared& share_for_call(const void* own, const SharedShape& shape);

  /// Prepares a call that may be captured as a CUDA graph. Shares the buffer now if it is new,
  /// because sharing is not possible during capture.
  void prepare(const void* own, const SharedShape& shape) { find(own, shape); }
  /// Returns a prepared buffer for use in a call that may be captured. Its sequence number is a
  /// counter in device memory. Each time that the call or its graph runs, count_call() increments
  /// the counter. If the buffer has rows, its RowExchange does so instead.
  const Shared& share_for_graph(const void* own, const SharedShape& shape);

 private:
  struct Entry;
  Shared& add(void* own, const SharedShape& shape);
  Shared& find(const void* own, const SharedShape& shape);
  void close();
  void abandon();

  Context& context_;
  cudaStream_t copies_ = nullptr;
  StreamMemory memory_;
  std::vector<bool> is_ipc_peer_;  // by rank
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<void*> opened_;  // one entry per call of cudaIpcOpenMemHandle
  std::vector<void*> owned_;   // flags of this rank
  int exceptions_;             // std::uncaught_exceptions() when this was made
};

/// Increments, by launch_counts(), the counters of buffers that Peers::share_for_graph() returned.
/// Skips a buffer that this rank does not share: it has no counter.
void count_call(std::initializer_list<const Shared*> buffers, cudaStream_t stream);

}  // namespace hirgen
