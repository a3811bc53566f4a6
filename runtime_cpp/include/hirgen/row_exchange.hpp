// Parts of a sum that ranks send each other in the kernel that adds them. Each block of the kernel
// sends its rows to all peers, waits for the same rows of each peer, and then computes them. So the
// sum takes one kernel, and its data crosses the links once.
//
// Every row has a ready and a done flag for each transfer. A block sets the ready flags of its rows
// first: all earlier kernels of the stream have ended, so nothing reads the rows of the last call.
//
// Blocks wait, so all blocks of a grid have to run at the same time. They go through the rows in
// order, on all ranks. The lowest row that is not exchanged on all ranks is therefore a row that
// each rank works on, or has sent. The kernel leaves some SMs to the kernels of other streams, which
// peers may wait for.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hirgen/device_flags.hpp"
#include "hirgen/ipc.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {

/// What a rank sends and receives in one kernel: parts with the same number of rows. An emitted
/// program names the transfers one by one.
class RowExchange {
 public:
  /// The most ranks that exchange parts, without this one.
  static constexpr int kMostPeers = 15;

  /// `shared` is the buffer that receives the parts. It has flags for each row of each transfer.
  RowExchange(const Shared& shared, int64_t rows, size_t row_bytes)
      : shared_(&shared), list_{rows, row_bytes, shared.sequence_number()} {}
  /// Sets the ready flags of a transfer from `peer`. Throws Error(kInternal) if there are too many
  /// transfers.
  void announce(int64_t peer, int64_t transfer) {
    peer_of(transfer).ready_there = shared_->ready_at(peer, flag_of(transfer));
  }
  /// Copies the own part to `out`, memory of `peer`, after its ready flags, and sets its done flags.
  void send(void* out, const void* part, int64_t peer, int64_t transfer);
  /// Copies the own part to `out`, memory of this rank.
  void keep(void* out, const void* part) { list_.own = out, list_.part = part; }
  /// Waits for the done flags of a transfer to this rank.
  void await(int64_t transfer) {
    peer_of(transfer).done_here = shared_->done(flag_of(transfer));
  }
  /// Exchanges all rows by separate operations on `stream`, as the CPU device does. `where` is the
  /// spec position, a string that outlives the program.
  void submit(cudaStream_t stream, const char* where) const;

  /// Runs block(i) for i in [0, n), each after its rows have been exchanged. A block has T threads
  /// for each of Rows rows.
  template <int T, int Rows, typename Index, typename Block>
  void launch(int64_t n, const Block& block, cudaStream_t stream, const char* where) const;

  /// A peer: its memory, and the flags of row 0. The flags of the next rows follow.
  struct Peer {
    void* out;
    CUdeviceptr ready_here, done_there, ready_there, done_here;
  };
  /// The arguments of the kernel.
  struct List {
    int64_t rows;
    size_t row_bytes;
    SequenceNumber sequence;
    const void* part = nullptr;
    void* own = nullptr;
    int peers = 0;
    Peer peer[kMostPeers] = {};
  };

 private:
  Peer& peer_of(int64_t transfer);  // transfers count from 1 on
  int64_t flag_of(int64_t transfer) const { return transfer * list_.rows; }

  const Shared* shared_;
  List list_;
};

#ifdef __CUDACC__

/// The flag of a row.
__device__ inline CUdeviceptr flag_of_row(CUdeviceptr first, int64_t row) {
  return first + static_cast<CUdeviceptr>(row) * sizeof(uint32_t);
}

/// Copies `bytes` bytes of this rank's part to all ranks, by all threads of a block. `ready()` waits
/// for the peers; the first elements are read meanwhile.
template <int Threads, typename T, typename Ready>
__device__ void send_rows(const RowExchange::List& list, size_t first, size_t bytes, int me,
                          const Ready& ready) {
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
    T* out = reinterpret_cast<T*>(static_cast<char*>(to) + first);
    HG_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (from + k * Threads < count) out[from + k * Threads] = held[k];
    }
  };
  read(me);
  ready();
  for (size_t from = me; from < count; from += size_t{kAtOnce} * Threads) {
    if (from != static_cast<size_t>(me)) read(from);
    for (int p = 0; p < list.peers; ++p) write(list.peer[p].out, from);
    write(list.own, from);
  }
}

/// Exchanges `count` rows from `first` on, by all threads of a block; `me` is the thread's number.
template <int Threads>
__device__ void exchange_rows(const RowExchange::List& list, int64_t first, int64_t count, int me) {
  const uint32_t sequence = value_of(list.sequence);
  const int flags = static_cast<int>(count) * list.peers;
  const auto each = [&](const auto& use) {
    for (int i = me; i < flags; i += Threads) use(list.peer[i % list.peers], first + i / list.peers);
  };
  const auto ready = [&] {
    each([&](const RowExchange::Peer& peer, int64_t row) {
      write_flag(flag_of_row(peer.ready_there, row), sequence);
    });
    each([&](const RowExchange::Peer& peer, int64_t row) {
      spin_on_flag(flag_of_row(peer.ready_here, row), sequence);
    });
    __syncthreads();
  };
  const size_t start = static_cast<size_t>(first) * list.row_bytes;
  const size_t bytes = static_cast<size_t>(count) * list.row_bytes;
  size_t address = reinterpret_cast<size_t>(list.part) | reinterpret_cast<size_t>(list.own);
  for (int p = 0; p < list.peers; ++p) address |= reinterpret_cast<size_t>(list.peer[p].out);
  if ((address | list.row_bytes) % sizeof(uint4) == 0) {
    send_rows<Threads, uint4>(list, start, bytes, me, ready);
  } else {
    send_rows<Threads, char>(list, start, bytes, me, ready);
  }
  __syncthreads();
  each([&](const RowExchange::Peer& peer, int64_t row) {
    write_flag(flag_of_row(peer.done_there, row), sequence);
  });
  each([&](const RowExchange::Peer& peer, int64_t row) {
    spin_on_flag(flag_of_row(peer.done_here, row), sequence);
  });
  __syncthreads();
}

template <int T, int Rows, typename Block>
__global__ void __launch_bounds__(T* Rows, 1024 / (T * Rows))
    exchange_kernel(const __grid_constant__ Block block,
                    const __grid_constant__ RowExchange::List list, int64_t blocks) {
  await_earlier_kernels();
  const int me = static_cast<int>(threadIdx.y) * T + static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
    const int64_t first = i * Rows, left = list.rows - first;
    exchange_rows<T * Rows>(list, first, left < Rows ? left : Rows, me);
    block(i);
  }
}

template <int T, int Rows, typename Index, typename Block>
void RowExchange::launch(int64_t n, const Block& block, cudaStream_t stream,
                         const char* where) const {
  constexpr int64_t kSmsLeft = 16;
  const int64_t sms = std::max(multiprocessors(where) - kSmsLeft, int64_t{1});
  const int64_t grid = std::min(n, sms * (1024 / (T * Rows)));
  if (n == 0) return;
  launch_early(exchange_kernel<T, Rows, Block>, dim3(static_cast<unsigned>(grid)), dim3(T, Rows), 1,
               stream, where, block, list_, n);
}

#else

template <int T, int Rows, typename Index, typename Block>
void RowExchange::launch(int64_t n, const Block& block, cudaStream_t stream,
                         const char* where) const {
  submit(stream, where);
  parallel_for(n, stream, where, block);
}

#endif

}  // namespace hirgen
