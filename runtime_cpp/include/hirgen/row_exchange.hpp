// Parts of a sum that ranks send each other in the kernel that adds them. Each block of the kernel
// sends its rows to all peers, waits for the same rows of each peer, and then computes them. So the
// sum takes one kernel, and its data crosses the links once.
//
// Each rank has two inboxes. Calls alternate between them, and call n sets the done flag of each
// row and transfer to n. Two inboxes suffice: in call n a rank writes to the inbox that a peer read
// in call n - 2. It has received the peer's row of call n - 1, so the peer's kernel of call n - 1
// has begun, and its kernel of call n - 2 has ended. Nothing but the kernel uses the rows that
// peers write (hirgen verify). The CPU device exchanges rows by several operations, with ready
// flags and the first inbox alone. These are the statements of the program, which hirgen proves.
//
// Blocks wait, so all blocks of a grid have to run at the same time. They go through the rows in
// order, on all ranks. The lowest row that is not exchanged on all ranks is therefore a row that
// each rank works on, or has sent. The kernel leaves some SMs to the kernels of other streams,
// which peers may wait for.
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

/// The parts that a rank sends and receives in one kernel. All have the same number of rows. An
/// emitted program names the transfers one by one.
class RowExchange {
 public:
  /// The most ranks that exchange parts, without this one.
  static constexpr int kMostPeers = 15;

  /// `shared` is the buffer with both inboxes. Its shape says how many rows a part has.
  RowExchange(const Shared& shared, size_t row_bytes)
      : shared_(&shared),
        list_{shared.rows(), row_bytes, shared.bytes() / 2, shared.sequence_number(),
              shared.calls_of_rows()} {}
  /// Sets the ready flags of a transfer from `peer`. Throws Error(kInternal) if there are too many
  /// transfers.
  void announce(int64_t peer, int64_t transfer) {
    peer_of(transfer).ready_there = shared_->ready_at(peer, flag_of(transfer));
  }
  /// Copies the own part to `out`, memory of `peer`, after its ready flags, and sets its done
  /// flags.
  void send(void* out, const void* part, int64_t peer, int64_t transfer);
  /// Copies the own part to `out`, memory of this rank in the first inbox. Without this call, the
  /// part is there.
  void keep(void* out, const void* part) { list_.own = out, list_.part = part; }
  /// Waits for the done flags of a transfer to this rank.
  void await(int64_t transfer) { peer_of(transfer).done_here = shared_->done(flag_of(transfer)); }
  /// Exchanges all rows by separate operations on `stream`, as the CPU device does. `where` is the
  /// spec position, a string that outlives the program.
  void submit(cudaStream_t stream, const char* where) const;

  /// The same pointer in the second inbox.
  template <typename T>
  const T* second(const T* part) const {
    return part + list_.inbox_bytes / sizeof(T);
  }
  /// The exchange for launch_rows(). `body` reads the second inbox, and the body of launch_rows()
  /// the first one.
  template <typename Body>
  struct Rows {
    const RowExchange& exchange;
    Body body;

    template <int T, int PerBlock, typename Index, typename Block>
    void launch(int64_t n, const Block& block, cudaStream_t stream, const char* where) const {
      Block second = block;
      second.body = body;
      exchange.launch<T, PerBlock>(n, block, second, stream, where);
    }
  };
  template <typename Body>
  Rows<Body> rows(const Body& body) const {
    return {*this, body};
  }

  /// A peer: its first inbox, and the flags of row 0. The flags of the next rows follow.
  struct Peer {
    void* out;
    CUdeviceptr done_there, ready_there, done_here;
  };
  /// The arguments of the kernel.
  struct List {
    int64_t rows;
    size_t row_bytes;
    size_t inbox_bytes;
    SequenceNumber sequence;  ///< on the CPU device
    uint32_t* calls;          ///< by row
    const void* part = nullptr;
    void* own = nullptr;
    int peers = 0;
    Peer peer[kMostPeers] = {};
  };

 private:
  /// Runs a block for each i in [0, n), after its rows have been exchanged: first(i), or second(i)
  /// if they arrive in the second inbox. A block has T threads for each of PerBlock rows.
  template <int T, int PerBlock, typename Block>
  void launch(int64_t n, const Block& first, const Block& second, cudaStream_t stream,
              const char* where) const;
  Peer& peer_of(int64_t transfer);  // transfers count from 1 on
  int64_t flag_of(int64_t transfer) const { return transfer * list_.rows; }

  const Shared* shared_;
  List list_;
};

/// The rows of a block, and their bytes in a part.
struct BlockOfRows {
  int64_t first, count;
  size_t start, bytes;
};
/// The rows of block `i` if each block has `per_block` rows, and the last one what is left.
HG_HOST_DEVICE inline BlockOfRows rows_of(int64_t i, int64_t per_block, int64_t rows,
                                          size_t row_bytes) {
  const int64_t first = i * per_block, left = rows - first;
  const int64_t count = left < per_block ? left : per_block;
  return {first, count, static_cast<size_t>(first) * row_bytes,
          static_cast<size_t>(count) * row_bytes};
}

#ifdef __CUDACC__

/// Copies `bytes` bytes of this rank's part to the inbox of all ranks, by all threads of a block.
template <int Threads, typename T>
__device__ void send_rows(const RowExchange::List& list, size_t first, size_t bytes, size_t inbox,
                          int me) {
  constexpr int kAtOnce = 4;
  const T* part = reinterpret_cast<const T*>(static_cast<const char*>(list.part) + first);
  const size_t count = bytes / sizeof(T);
  T held[kAtOnce];
  const auto read = [&](size_t from) {
    HG_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (from + k * Threads < count) held[k] = part[from + k * Threads];
    }
  };
  const auto write = [&](void* to, size_t from) {
    T* out = reinterpret_cast<T*>(static_cast<char*>(to) + first + inbox);
    HG_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (from + k * Threads < count) out[from + k * Threads] = held[k];
    }
  };
  for (size_t from = me; from < count; from += size_t{kAtOnce} * Threads) {
    read(from);
    for (int p = 0; p < list.peers; ++p) write(list.peer[p].out, from);
    write(list.own, from);
  }
}

/// Exchanges the rows of a block, by all of its threads; `me` is the thread's number. Returns the
/// number of the call.
template <int Threads>
__device__ uint32_t exchange_rows(const RowExchange::List& list, const BlockOfRows& rows, int me) {
  const uint32_t call = list.calls[rows.first] + 1;
  const size_t inbox = call % 2 == 0 ? 0 : list.inbox_bytes;
  size_t address = reinterpret_cast<size_t>(list.part) | reinterpret_cast<size_t>(list.own);
  for (int p = 0; p < list.peers; ++p) address |= reinterpret_cast<size_t>(list.peer[p].out);
  if ((address | list.row_bytes | list.inbox_bytes) % sizeof(uint4) == 0) {
    send_rows<Threads, uint4>(list, rows.start, rows.bytes, inbox, me);
  } else {
    send_rows<Threads, char>(list, rows.start, rows.bytes, inbox, me);
  }
  __syncthreads();
  if (me < rows.count * list.peers) {  // a thread for each flag
    const RowExchange::Peer& peer = list.peer[me % list.peers];
    const auto offset = static_cast<CUdeviceptr>(rows.first + me / list.peers) * sizeof(uint32_t);
    write_flag(peer.done_there + offset, call);
    spin_on_flag(peer.done_here + offset, call);
  }
  if (me < rows.count) list.calls[rows.first + me] = call;
  __syncthreads();
  return call;
}

template <int T, int PerBlock, typename Block>
__global__ void __launch_bounds__(T* PerBlock, 1024 / (T * PerBlock))
    exchange_kernel(const __grid_constant__ Block even, const __grid_constant__ Block odd,
                    const __grid_constant__ RowExchange::List list, int64_t blocks) {
  static_assert(T >= RowExchange::kMostPeers, "a thread has one flag at most");
  await_earlier_kernels();
  const int me = static_cast<int>(threadIdx.y) * T + static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
    const BlockOfRows rows = rows_of(i, PerBlock, list.rows, list.row_bytes);
    const uint32_t call = exchange_rows<T * PerBlock>(list, rows, me);
    (call % 2 == 0 ? even : odd)(i);
    // The watchdog reads how many calls there were.
    if (i == 0 && me == 0 && list.sequence.counter != nullptr) {
      *const_cast<uint32_t*>(list.sequence.counter) = call;
    }
  }
}

template <int T, int PerBlock, typename Block>
void RowExchange::launch(int64_t n, const Block& first, const Block& second, cudaStream_t stream,
                         const char* where) const {
  constexpr int64_t kSmsLeft = 4;
  const int64_t sms = std::max(multiprocessors(where) - kSmsLeft, int64_t{1});
  const int64_t grid = std::min(n, sms * (1024 / (T * PerBlock)));
  if (n == 0) return;
  launch_early(exchange_kernel<T, PerBlock, Block>, dim3(static_cast<unsigned>(grid)),
               dim3(T, PerBlock), 1, stream, where, first, second, list_, n);
}

#else

template <int T, int PerBlock, typename Block>
void RowExchange::launch(int64_t n, const Block& first, const Block& /*second*/,
                         cudaStream_t stream, const char* where) const {
  submit(stream, where);
  parallel_for(n, stream, where, first);
}

#endif

}  // namespace hirgen
