// Ranks send each other rows in one kernel. Each block of the kernel sends its rows to all peers,
// and waits for the same rows of each peer. For a gather, that is all (run()). For a sum, the block
// then computes on these rows in the same kernel (rows()). In both cases the data crosses each link
// once.
//
// The rows of a gather are used after the kernel. So a peer may still use the rows of the previous
// call when a rank wants to send. The rank sends a row only after the peer has set the row's ready
// flag, which says that the peer no longer uses these rows.
//
// A sum has no ready flags. Each rank has two inboxes instead. Calls alternate between the inboxes,
// and call n sets the done flag of each row and transfer to n. Two inboxes suffice: in call n a
// rank writes to the inbox that a peer read in call n - 2. The rank has received the peer's row of
// call n - 1, so the peer's kernel of call n - 1 has begun, and its kernel of call n - 2 has ended.
// hirgen verify checks that only the kernel uses the rows that peers write. The CPU device
// exchanges rows by separate operations, with ready flags. These operations are the statements of
// the program that hirgen verifies. Calls on the CPU device also alternate between the inboxes,
// unless a graph counts them.
//
// Blocks wait for blocks of other GPUs, so all blocks of a grid must be resident at the same time.
// A block sends all of its rows before it waits for done flags of its peers. The kernel leaves some
// SMs to kernels of other streams, because peers may wait for those kernels.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hirgen/device_flags.hpp"
#include "hirgen/host_device.hpp"
#include "hirgen/ipc.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {

/// The exchange of one tensor in one kernel: a rank sends one part to each peer, and receives one
/// part from each. All parts have the same number of rows. An emitted program adds the transfers
/// one by one: announce(), send(), keep() and await() only describe the exchange. run() launches
/// the exchange of a gather; launch_rows() or launch_parts() launches the exchange of a sum.
class RowExchange {
 public:
  /// The largest number of peers of an exchange. Transfers are numbered 1 to kMostPeers.
  static constexpr int kMostPeers = 15;

  /// `shared` is the buffer in which rows arrive. Its SharedShape::rows is the number of rows of a
  /// part. `row_bytes` is the size of a row in bytes.
  RowExchange(const Shared& shared, size_t row_bytes)
      : shared_(&shared),
        list_{shared.rows(), row_bytes, shared.sequence_number(), shared.calls_of_rows()} {}
  /// Sets the ready flags of a transfer, one for each row, in the memory of `peer`, so that `peer`
  /// may send. Throws Error(kInternal) unless 1 <= transfer <= kMostPeers; so do send() and
  /// await().
  void announce(int64_t peer, int64_t transfer);
  /// Copies `part` to `out`, memory of `peer`, and sets the done flags in the memory of `peer`.
  /// Waits for the peer's ready flags first, if there are any.
  void send(void* out, const void* part, int64_t peer, int64_t transfer);
  /// Adds a copy of the local part to this rank's inbox. `out` is the address in the first inbox;
  /// calls that use the second inbox copy to the corresponding address there. A local part that is
  /// read where it was computed needs no copy.
  void keep(void* out, const void* part) { list_.own = {out, part}; }
  /// Waits for the done flags of a transfer to this rank.
  void await(int64_t transfer) { peer_of(transfer).done_here = shared_->done(flag_of(transfer)); }
  /// Enqueues the exchange of all rows of a gather, with one inbox and ready flags. `where` is the
  /// spec position, a string that outlives the program.
  void run(cudaStream_t stream, const char* where) const;
  /// Enqueues the exchange as separate operations, as the CPU device does. `inbox` is the distance
  /// in bytes from the first inbox to the inbox in which rows arrive.
  void submit(cudaStream_t stream, const char* where, size_t inbox = 0) const;

  /// Returns the address in the second inbox that corresponds to `part` in the first inbox. If
  /// `part` is the local part that is sent, which is computed in the first inbox in every call,
  /// returns `part`.
  template <typename T>
  const T* second(const T* part) const {
    return part == list_.peer[0].copy.part ? part : part + inbox_bytes() / sizeof(T);
  }
  /// The exchange as an argument of launch_rows() or launch_parts(). The body that this function
  /// gets reads the first inbox; the member `body` computes the same from the second inbox.
  template <typename Body>
  struct Rows {
    const RowExchange& exchange;
    Body body;

    template <int T, int PerBlock, typename Index, typename Block>
    void launch(int64_t n, const Block& block, cudaStream_t stream, const char* where) const {
      Block second = block;
      second.body = body;
      List list = exchange.list_;
      list.inbox_bytes = exchange.inbox_bytes();
      exchange.launch<T, PerBlock>(list, n, block, second, stream, where);
    }
  };
  template <typename Body>
  Rows<Body> rows(const Body& body) const {
    return {*this, body};
  }

  /// A copy of rows to an inbox of a rank. `out` is the address in the first inbox.
  struct Copy {
    void* out;
    const void* part;
  };
  /// The copy to a peer, and the addresses of the flags of row 0: `..._there` in the peer's memory,
  /// `..._here` in this rank's memory. The flags of the other rows follow in memory.
  struct Peer {
    Copy copy;
    CUdeviceptr done_there, ready_there, done_here, ready_here;
  };
  /// The arguments of the kernel.
  struct List {
    int64_t rows;
    size_t row_bytes;
    SequenceNumber sequence;  ///< on a GPU, the kernel ignores the value and sets the counter
    uint32_t* calls;          ///< number of earlier calls, by row
    size_t inbox_bytes = 0;   ///< offset of the second inbox; 0: one inbox, with ready flags
    Copy own = {};            ///< set by keep(); null: the local part needs no copy
    int peers = 0;
    Peer peer[kMostPeers] = {};
  };

 private:
  /// Enqueues one kernel. For each i in [0, n), it exchanges PerBlock rows and then calls first(i),
  /// or second(i) if the rows arrive in the second inbox. On a GPU, each thread block has T threads
  /// for each of PerBlock rows, and processes one or several i.
  template <int T, int PerBlock, typename Block>
  void launch(const List& list, int64_t n, const Block& first, const Block& second,
              cudaStream_t stream, const char* where) const;
  size_t inbox_bytes() const { return shared_->bytes() / 2; }
  Peer& peer_of(int64_t transfer);  // transfers are numbered from 1
  int64_t flag_of(int64_t transfer) const { return transfer * list_.rows; }

  const Shared* shared_;
  List list_;
};

/// The rows of a block: `count` rows from row `first` on, which are `bytes` bytes from byte `start`
/// of a part on.
struct BlockOfRows {
  int64_t first, count;
  size_t start, bytes;
};
/// Returns the rows of block `i`, if each block has `per_block` of the `rows` rows of a part. The
/// last block may have fewer.
HG_HOST_DEVICE inline BlockOfRows rows_of(int64_t i, int64_t per_block, int64_t rows,
                                          size_t row_bytes) {
  const int64_t first = i * per_block, left = rows - first;
  const int64_t count = left < per_block ? left : per_block;
  return {first, count, static_cast<size_t>(first) * row_bytes,
          static_cast<size_t>(count) * row_bytes};
}

#ifdef __CUDACC__

/// Copies bytes `first` to first + bytes - 1 of each part to the inbox of its peer and, if list.own
/// is set, to this rank's inbox, with accesses of type T. `inbox` is the offset of the inbox in
/// bytes. `me` is the index of this thread in the block; all threads of the block call this. If
/// consecutive copies have the same part, it is read only once.
template <int Threads, typename T>
__device__ void send_rows(const RowExchange::List& list, size_t first, size_t bytes, size_t inbox,
                          int me) {
  constexpr int kAtOnce = 4;
  const size_t count = bytes / sizeof(T);
  for (size_t from = me; from < count; from += size_t{kAtOnce} * Threads) {
    T held[kAtOnce];
    const void* read = nullptr;
    for (int p = 0; p <= list.peers; ++p) {
      const RowExchange::Copy& copy = p < list.peers ? list.peer[p].copy : list.own;
      if (copy.out == nullptr) continue;
      const T* part = reinterpret_cast<const T*>(static_cast<const char*>(copy.part) + first);
      T* out = reinterpret_cast<T*>(static_cast<char*>(copy.out) + first + inbox);
      HG_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (copy.part != read && from + k * Threads < count) held[k] = part[from + k * Threads];
      }
      HG_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (from + k * Threads < count) out[from + k * Threads] = held[k];
      }
      read = copy.part;
    }
  }
}

/// Returns whether all addresses, the size of a row and the offset of the second inbox are
/// multiples of 16 bytes, so that rows can be copied as vectors.
__device__ inline bool copies_vectors(const RowExchange::List& list) {
  size_t address = list.row_bytes | list.inbox_bytes;
  const auto add = [&](const RowExchange::Copy& copy) {
    address |= reinterpret_cast<size_t>(copy.out) | reinterpret_cast<size_t>(copy.part);
  };
  for (int p = 0; p < list.peers; ++p) add(list.peer[p].copy);
  add(list.own);
  return address % sizeof(uint4) == 0;
}

/// The flag for which thread `me` of a block is responsible. A block has one flag for each of its
/// rows and each peer. In threads without a flag, write() and await() do nothing.
struct ThreadFlags {
  bool any;
  const RowExchange::Peer& peer;
  CUdeviceptr offset;

  __device__ ThreadFlags(const RowExchange::List& list, const BlockOfRows& rows, int me)
      : any(me < rows.count * list.peers),
        peer(list.peer[me % list.peers]),
        offset(static_cast<CUdeviceptr>(rows.first + me / list.peers) * sizeof(uint32_t)) {}

  __device__ void write(CUdeviceptr flags, uint32_t call) const {
    if (any) write_flag(flags + offset, call);
  }
  __device__ void await(CUdeviceptr flags, uint32_t call) const {
    if (any) spin_on_flag(flags + offset, call);
  }
};

/// Sends the rows of a block, and sets their done flags. First waits for their ready flags, if
/// there are any. All threads of the block call this.
template <int Threads>
__device__ void send_block(const RowExchange::List& list, const BlockOfRows& rows, uint32_t call,
                           int me) {
  const ThreadFlags flags(list, rows, me);
  if (list.inbox_bytes == 0) {
    flags.await(flags.peer.ready_here, call);
    __syncthreads();
  }
  const size_t inbox = call % 2 == 0 ? 0 : list.inbox_bytes;
  if (copies_vectors(list)) {
    send_rows<Threads, uint4>(list, rows.start, rows.bytes, inbox, me);
  } else {
    send_rows<Threads, char>(list, rows.start, rows.bytes, inbox, me);
  }
  __syncthreads();
  flags.write(flags.peer.done_there, call);
}

// Exchanges rows, then runs `even` on them in calls with an even number, and `odd` in the others. A
// block sends all of its rows before it waits for rows of its peers.
template <int T, int PerBlock, typename Block>
__global__ void __launch_bounds__(T* PerBlock, 1024 / (T * PerBlock))
    exchange_kernel(const __grid_constant__ Block even, const __grid_constant__ Block odd,
                    const __grid_constant__ RowExchange::List list, int64_t blocks) {
  static_assert(T >= RowExchange::kMostPeers, "a thread has one flag at most");
  await_earlier_kernels();
  const int me = static_cast<int>(threadIdx.y) * T + static_cast<int>(threadIdx.x);
  const auto rows = [&](int64_t i) { return rows_of(i, PerBlock, list.rows, list.row_bytes); };
  const uint32_t call = list.calls[blockIdx.x * PerBlock] + 1;  // the same for all rows
  if (list.inbox_bytes == 0) {
    for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
      const ThreadFlags flags(list, rows(i), me);
      flags.write(flags.peer.ready_there, call);
    }
  }
  for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
    send_block<T * PerBlock>(list, rows(i), call, me);
  }
  for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
    const BlockOfRows own = rows(i);
    const ThreadFlags flags(list, own, me);
    flags.await(flags.peer.done_here, call);
    __syncthreads();
    if (me < own.count) list.calls[own.first + me] = call;
    (call % 2 == 0 ? even : odd)(i);
    // FlagWaits reads the number of calls from this counter.
    if (i == 0 && me == 0 && list.sequence.counter != nullptr) {
      *const_cast<uint32_t*>(list.sequence.counter) = call;
    }
  }
}

template <int T, int PerBlock, typename Block>
void RowExchange::launch(const List& list, int64_t n, const Block& first, const Block& second,
                         cudaStream_t stream, const char* where) const {
  constexpr int64_t kSmsLeft = 4;
  const int64_t sms = std::max(multiprocessors(where) - kSmsLeft, int64_t{1});
  const int64_t grid = std::min(n, sms * (1024 / (T * PerBlock)));
  if (n == 0) return;
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
  // In a graph it starts after all earlier work. Nothing says that other streams are ahead, which
  // write flags for which peers wait.
  launch_kernel(captured_end(stream, where).capture == 0, exchange_kernel<T, PerBlock, Block>,
                dim3(static_cast<unsigned>(grid)), dim3(T, PerBlock), 1, stream, where, first,
                second, list, n);
}

#else

template <int T, int PerBlock, typename Block>
void RowExchange::launch(const List& list, int64_t n, const Block& first, const Block& second,
                         cudaStream_t stream, const char* where) const {
  const bool known = list.sequence.counter == nullptr;  // else the device counts the calls
  const bool to_second = known && list.inbox_bytes != 0 && list.sequence.value % 2 == 0;
  submit(stream, where, to_second ? list.inbox_bytes : 0);
  parallel_for(n, stream, where, to_second ? second : first);
}

#endif

}  // namespace hirgen
