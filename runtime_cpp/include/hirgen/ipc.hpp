// Memory that the ranks of one node share through CUDA IPC, and the flags that order its use. The
// emitted program writes flags and waits for them on its streams (flags.hpp, transfers.hpp). So the
// host waits only while memory is being shared.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/flag_waits.hpp"
#include "hirgen/flags.hpp"
#include "hirgen/mesh.hpp"
#include "hirgen/transfers.hpp"

namespace hirgen {

/// One shared buffer: each rank's memory as this process maps it, and for each rank a ready flag
/// and a done flag for each transfer of a call, or for each row of it (see rows()). Flags hold
/// sequence numbers, which only grow (modulo 2^32). Ranks are numbered as in the world. On a rank
/// that does not share the buffer, there is no memory and there are no flags: call member functions
/// only on ranks that share it.
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
  /// Return the flags of transfer i (from 0) that this rank waits for, and note the wait. ready:
  /// the peer's buffer is ready; done: the peer's copy is done. In a RowExchange, i is the number
  /// of the transfer times rows(), plus the row.
  CUdeviceptr ready(int64_t i) const { return awaited(waits_->ready, i, 0); }
  CUdeviceptr done(int64_t i) const { return awaited(waits_->done, i, transfers_); }
  /// Return the flags of transfer i in the memory of `rank`, which this rank writes when its own
  /// buffer is ready or its own copy is done.
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
  /// The sequence number of the current call, to which the call sets its flags: the number of calls
  /// so far that use the buffer, with this one. 0 if the device counts the calls; see
  /// sequence_number().
  uint32_t sequence() const { return sequence_; }
  /// The position in the spec.
  const char* where() const { return where_; }
  /// The size of one rank's buffer.
  size_t bytes() const { return bytes_; }
  /// The number of rows of a transfer, if a RowExchange sends them; 0 otherwise.
  int64_t rows() const { return rows_; }
  /// The address, in this rank's memory, of one word for each row, in which the kernel of the
  /// RowExchange counts its calls.
  uint32_t* calls_of_rows() const { return pointer(flag(rank_, 2 * transfers_)); }
  /// sequence() for kernels, which can also read a counter in device memory.
  SequenceNumber sequence_number() const { return {sequence_, counter_}; }
  /// The flags of this rank's i-th transfer, which copies from or to the memory of `peer`.
  TransferFlags flags(int64_t peer, int64_t i) const {
    return {ready(i), done_at(peer, i), pointer(flag(rank_, 2 * transfers_ + i)),
            sequence_number()};
  }

 private:
  friend class Peers;
  /// The number of words of one rank: for each transfer a ready flag, a done flag and a count of
  /// blocks (see TransferFlags), and then the counter of calls. In a RowExchange, each row of a
  /// transfer counts as a transfer, and calls_of_rows() is in the place of the counts.
  static int64_t flag_count(int64_t transfers) { return 3 * transfers + 1; }
  CUdeviceptr flag(int64_t rank, int64_t i) const {
    return flags_[static_cast<size_t>(rank)] + static_cast<CUdeviceptr>(i) * sizeof(uint32_t);
  }
  // Returns a flag that this rank waits for, and notes the wait. done_at() and ready_at() note the
  // rank that writes the flag: a rank that waits for a ready flag of a transfer sets its done flag
  // in the peer's memory, and vice versa.
  CUdeviceptr awaited(std::vector<FlagWaits::Entry>& entries, int64_t i, int64_t first) const {
    entries[static_cast<size_t>(i)].awaited = sequence_;
    return flag(rank_, first + i);
  }
  static uint32_t* pointer(CUdeviceptr flag) {
    return reinterpret_cast<uint32_t*>(flag);  // NOLINT(performance-no-int-to-ptr)
  }

  std::vector<void*> buffers_;      // by rank; null where this rank has no access
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

/// The size, transfers and ranks of a shared buffer. This rank shares it with the ranks along a
/// mesh axis, or with all ranks.
struct SharedShape {
  size_t bytes;                ///< of one rank
  int64_t transfers;           ///< number in a call; each has a ready and a done flag
  const char* name;            ///< of the tensor
  const char* where;           ///< position in the spec; a string that outlives the program
  int64_t rows = 0;            ///< of a transfer, if a RowExchange sends them; each row has flags
  const Mesh* mesh = nullptr;  ///< null: all ranks share it
  int axis = 0;                ///< of the mesh
};

/// Returns the IPC peers (Context::ipc_peers) with which this rank shares any of the buffers,
/// including itself; empty on a rank that shares none. If `shapes` is empty, returns all IPC peers.
std::vector<int> sharers(const Context& context, const std::vector<SharedShape>& shapes);

/// The buffers that a program shares with its IPC peers. All ranks must share the same buffers in
/// the same order.
///
/// A buffer of the program is shared once, when the program is made. A buffer of the caller is
/// shared by the first call that passes it. In that call, all ranks of the shape must pass a buffer
/// that is new to them. Later, all of them must change buffers in the same calls. Flags belong to a
/// buffer, so ranks that break this rule wait for each other until the deadline, and never compute
/// on the wrong buffer. The caller's buffer must come from cudaMalloc, and stay allocated until the
/// program is destroyed.
///
/// A rank outside the ranks of a shape shares nothing: there, share() and the functions after it
/// return a Shared without memory.
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

  /// The stream of all copies of this rank, with the highest priority. Copies run in the order of
  /// issue, because concurrent copies would share one link, and all would end late.
  cudaStream_t copies() const { return copies_; }
  /// Returns whether `rank` is an IPC peer, whose shared memory this rank can access.
  bool is_ipc_peer(int64_t rank) const { return is_ipc_peer_[static_cast<size_t>(rank)]; }
  const StreamMemory& memory() const { return memory_; }

  /// Shares `own`, memory from Context::allocate that `shape` describes. Collective over the IPC
  /// peers among the ranks of the shape, as is all sharing below; blocks the host.
  Shared& share(void* own, const SharedShape& shape);
  /// Returns the shared buffer for use in the current call, after it increments the buffer's
  /// sequence number. If the buffer is new, shares it first, which blocks the host.
  const Shared& share_for_call(const void* own, const SharedShape& shape);

  /// Prepares a call that may be captured as a CUDA graph: shares the buffer if it is new, because
  /// this is not possible during capture.
  void prepare(const void* own, const SharedShape& shape) { find(own, shape); }
  /// Returns a prepared buffer for use in a call that may be captured. Each time that the call or
  /// its graph runs, a kernel on `stream` increments the buffer's counter in device memory. For a
  /// buffer with rows, the RowExchange updates the counter.
  const Shared& share_for_graph(const void* own, const SharedShape& shape, cudaStream_t stream);

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

}  // namespace hirgen
