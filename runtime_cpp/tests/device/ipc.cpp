// Tests of CUDA IPC between processes: handles, and copies by put and by get, ordered by flags in
// device memory.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "test.hpp"

using namespace device_test;

namespace {

constexpr size_t kCount = 100000;
constexpr int kRounds = 20;

template <class Function>
Function* entry(const char* name) {
  void* pointer = nullptr;
  OK(cudaGetDriverEntryPointByVersion(name, &pointer, 12000, cudaEnableDefault, nullptr));
  return reinterpret_cast<Function*>(pointer);
}

void wait_geq(cudaStream_t stream, uint32_t* word, uint32_t value) {
  static auto* call = entry<decltype(cuStreamWaitValue32)>("cuStreamWaitValue32");
  OK(call(stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void signal(cudaStream_t stream, uint32_t* word, uint32_t value) {
  static auto* call = entry<decltype(cuStreamWriteValue32)>("cuStreamWriteValue32");
  OK(call(stream, reinterpret_cast<CUdeviceptr>(word), value, 0));
}

/// Every rank's handle, in the memory that the ranks share.
cudaIpcMemHandle_t* handles(const Rank& rank) {
  return static_cast<cudaIpcMemHandle_t*>(rank.memory);
}

void share(const Rank& rank, void* allocation) {
  OK(cudaIpcGetMemHandle(&handles(rank)[rank.rank], allocation));
  rank.barrier();
}

char* open_handle(const Rank& rank, int peer) {
  void* mapped = nullptr;
  OK(cudaIpcOpenMemHandle(&mapped, handles(rank)[peer], cudaIpcMemLazyEnablePeerAccess));
  return static_cast<char*>(mapped);
}

/// An opened handle maps the whole allocation, from its base on.
void base_and_offset() {
  run_ranks(2, [](const Rank& rank) {
    char* memory = nullptr;
    OK(cudaMalloc(&memory, 8 << 20));
    OK(cudaMemset(memory, rank.rank + 1, 8 << 20));
    OK(cudaMemset(memory + 4096, rank.rank + 11, 4096));
    OK(cudaDeviceSynchronize());
    share(rank, memory);
    char* peer = open_handle(rank, 1 - rank.rank);
    EXPECT(download(peer, 1)[0] == 2 - rank.rank);
    EXPECT(download(peer + 4096, 1)[0] == 12 - rank.rank);
    rank.barrier();
    OK(cudaIpcCloseMemHandle(peer));
    rank.barrier();
    OK(cudaFree(memory));
  });
}

/// Opening a handle again returns the same address, which stays mapped until the memory is closed
/// as often as it was opened.
void opening_counts() {
  run_ranks(2, [](const Rank& rank) {
    char* memory = nullptr;
    OK(cudaMalloc(&memory, 4 << 20));
    OK(cudaMemset(memory, rank.rank + 1, 4 << 20));
    OK(cudaDeviceSynchronize());
    share(rank, memory);
    char* first = open_handle(rank, 1 - rank.rank);
    char* second = open_handle(rank, 1 - rank.rank);
    EXPECT(first == second);
    OK(cudaIpcCloseMemHandle(first));
    EXPECT(download(second, 1)[0] == 2 - rank.rank);
    OK(cudaIpcCloseMemHandle(second));
    EXPECT(cudaIpcCloseMemHandle(second) != cudaSuccess);
    static_cast<void>(cudaGetLastError());
    rank.barrier();
    OK(cudaFree(memory));
  });
}

void own_handle_is_refused() {
  char* memory = nullptr;
  OK(cudaMalloc(&memory, 4 << 20));
  cudaIpcMemHandle_t handle;
  OK(cudaIpcGetMemHandle(&handle, memory));
  void* mapped = nullptr;
  EXPECT_STATUS(cudaErrorDeviceUninitialized,
                cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess));
  static_cast<void>(cudaGetLastError());
}

/// One allocation of every rank: two semaphores, then data. Each rank opens the allocations of the
/// previous and the next rank of the ring.
struct Exchange {
  explicit Exchange(const Rank& rank) : rank(rank), next((rank.rank + 1) % rank.size) {
    OK(cudaMalloc(&own, kBytes));
    OK(cudaMemset(own, 0, kBytes));
    OK(cudaDeviceSynchronize());
    share(rank, own);
    previous = open_handle(rank, (rank.rank + rank.size - 1) % rank.size);
    following = rank.size == 2 ? previous : open_handle(rank, next);
    source = upload(std::vector<int>(kCount));
    result = upload(std::vector<int>(kCount * kRounds));
    stream = make_stream();
  }
  ~Exchange() {
    OK(cudaStreamSynchronize(stream));
    rank.barrier();
    OK(cudaIpcCloseMemHandle(previous));
    if (following != previous) OK(cudaIpcCloseMemHandle(following));
    rank.barrier();
    OK(cudaFree(own));
  }
  static uint32_t* semaphore(char* base, int which) {
    return reinterpret_cast<uint32_t*>(base) + which;
  }
  static int* data(char* base) { return reinterpret_cast<int*>(base + 4096); }
  void fill_source(int round) {
    OK(cudaMemsetAsync(source, rank.rank * kRounds + round, kCount * sizeof(int), stream));
  }
  void keep(int round, const int* from) {
    OK(cudaMemcpyAsync(result + static_cast<size_t>(round) * kCount, from, kCount * sizeof(int),
                       cudaMemcpyDeviceToDevice, stream));
  }
  /// Every round must have brought the sender's data of that round.
  void check(int sender) {
    std::vector<int> got = download(result, kCount * kRounds);
    for (size_t i = 0; i < got.size(); ++i) {
      int byte = sender * kRounds + static_cast<int>(i / kCount);
      if (got[i] == byte * 0x01010101) continue;
      return fail(__FILE__, __LINE__, "a round brought other data");
    }
  }

  static constexpr size_t kBytes = 4096 + kCount * sizeof(int);
  const Rank& rank;
  int next;
  char *own = nullptr, *previous = nullptr, *following = nullptr;
  int *source = nullptr, *result = nullptr;
  cudaStream_t stream = nullptr;
};

/// put: the receiver signals "free"; the sender copies and signals "arrived". Each polls its own
/// memory.
void put(int size) {
  run_ranks(size, [](const Rank& rank) {
    Exchange x(rank);
    for (int round = 0; round < kRounds; ++round) {
      auto number = static_cast<uint32_t>(round + 1);
      signal(x.stream, Exchange::semaphore(x.previous, 0), number);  // this rank's buffer is free
      x.fill_source(round);
      wait_geq(x.stream, Exchange::semaphore(x.own, 0), number);
      OK(cudaMemcpyAsync(Exchange::data(x.following), x.source, kCount * sizeof(int),
                         cudaMemcpyDeviceToDevice, x.stream));
      signal(x.stream, Exchange::semaphore(x.following, 1), number);  // the data has arrived there
      wait_geq(x.stream, Exchange::semaphore(x.own, 1), number);
      x.keep(round, Exchange::data(x.own));
    }
    x.check((rank.rank + rank.size - 1) % rank.size);
  });
}

/// get: the sender signals "ready"; the receiver copies and signals "read".
void get(int size) {
  run_ranks(size, [](const Rank& rank) {
    Exchange x(rank);
    for (int round = 0; round < kRounds; ++round) {
      auto number = static_cast<uint32_t>(round + 1);
      // Wait until the next rank has read the data of the previous round.
      wait_geq(x.stream, Exchange::semaphore(x.own, 1), number - 1);
      OK(cudaMemsetAsync(Exchange::data(x.own), rank.rank * kRounds + round, kCount * sizeof(int),
                         x.stream));
      signal(x.stream, Exchange::semaphore(x.following, 0), number);  // ready
      wait_geq(x.stream, Exchange::semaphore(x.own, 0), number);
      x.keep(round, Exchange::data(x.previous));
      signal(x.stream, Exchange::semaphore(x.previous, 1), number);  // read
    }
    x.check((rank.rank + rank.size - 1) % rank.size);
  });
}

/// A handle made from an inner pointer of an allocation refers to its base, too.
void handle_of_an_inner_pointer() {
  run_ranks(2, [](const Rank& rank) {
    char* memory = nullptr;
    OK(cudaMalloc(&memory, 4 << 20));
    OK(cudaMemset(memory, rank.rank + 1, 8192));
    OK(cudaMemset(memory + 4096, rank.rank + 11, 4096));
    OK(cudaDeviceSynchronize());
    share(rank, memory + 4096);
    char* peer = open_handle(rank, 1 - rank.rank);
    EXPECT(download(peer, 1)[0] == 2 - rank.rank);
    EXPECT(download(peer + 4096, 1)[0] == 12 - rank.rank);
    OK(cudaIpcCloseMemHandle(peer));
    rank.barrier();
    OK(cudaFree(memory));
  });
}

/// Memory is allocated, shared, opened, closed and freed repeatedly: a handle never opens the
/// memory of an earlier round.
void shared_again() {
  run_ranks(2, [](const Rank& rank) {
    for (int round = 0; round < 10; ++round) {
      char* memory = nullptr;
      OK(cudaMalloc(&memory, 2 << 20));
      OK(cudaMemset(memory, 10 * rank.rank + round, 2 << 20));
      OK(cudaDeviceSynchronize());
      share(rank, memory);
      char* peer = open_handle(rank, 1 - rank.rank);
      EXPECT(download(peer + (1 << 20), 1)[0] == 10 * (1 - rank.rank) + round);
      OK(cudaIpcCloseMemHandle(peer));
      // After the last close, the memory can be opened again.
      peer = open_handle(rank, 1 - rank.rank);
      EXPECT(download(peer, 1)[0] == 10 * (1 - rank.rank) + round);
      OK(cudaIpcCloseMemHandle(peer));
      rank.barrier();
      OK(cudaFree(memory));
      rank.barrier();
    }
  });
}

/// Copies and fills into a peer's memory are visible there after a barrier.
void written_by_the_peer() {
  run_ranks(2, [](const Rank& rank) {
    int* memory = nullptr;
    OK(cudaMalloc(&memory, 2 << 20));
    share(rank, memory);
    int* peer = reinterpret_cast<int*>(open_handle(rank, 1 - rank.rank));
    std::vector<int> numbers(500, rank.rank + 40);
    OK(cudaMemcpy(peer, numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemset(peer + 500, rank.rank + 1, 500 * sizeof(int)));
    OK(cudaDeviceSynchronize());
    rank.barrier();
    const std::vector<int> got = download(memory, 1000);
    EXPECT(got[0] == 41 - rank.rank && got[499] == 41 - rank.rank);
    EXPECT(got[500] == (2 - rank.rank) * 0x01010101 && got[999] == got[500]);
    OK(cudaIpcCloseMemHandle(peer));
    rank.barrier();
    OK(cudaFree(memory));
  });
}

/// Memory that has no IPC handle is refused, and so is a close of memory that was not opened.
void refused_handles() {
  cudaIpcMemHandle_t handle{};
  int on_stack = 0;
  char *pinned = nullptr, *memory = nullptr, *pool = nullptr;
  OK(cudaMallocHost(&pinned, 4096));
  OK(cudaMalloc(&memory, 4096));
  OK(cudaMallocAsync(&pool, 4096, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT(cudaIpcGetMemHandle(&handle, &on_stack) != cudaSuccess);
  EXPECT(cudaIpcGetMemHandle(&handle, pinned) != cudaSuccess);
  EXPECT(cudaIpcGetMemHandle(&handle, pool) != cudaSuccess);
  EXPECT(cudaIpcCloseMemHandle(memory) != cudaSuccess);
  static_cast<void>(cudaGetLastError());
  OK(cudaFreeAsync(pool, nullptr));
  OK(cudaFree(memory));
  OK(cudaFreeHost(pinned));
}

#ifdef HIRGEN_CPU_DEVICE
/// CUDA leaves it undefined to free memory that a peer has open. Here the peer keeps its mapping,
/// and cannot open the memory again after it has closed it.
void freed_while_open() {
  run_ranks(2, [](const Rank& rank) {
    char* memory = nullptr;
    OK(cudaMalloc(&memory, 2 << 20));
    OK(cudaMemset(memory, rank.rank + 1, 2 << 20));
    OK(cudaDeviceSynchronize());
    share(rank, memory);
    char* peer = open_handle(rank, 1 - rank.rank);
    rank.barrier();
    OK(cudaFree(memory));
    rank.barrier();
    EXPECT(download(peer, 1)[0] == 2 - rank.rank);
    OK(cudaIpcCloseMemHandle(peer));
    void* again = nullptr;
    EXPECT_STATUS(
        cudaErrorMapBufferObjectFailed,
        cudaIpcOpenMemHandle(&again, handles(rank)[1 - rank.rank], cudaIpcMemLazyEnablePeerAccess));
    static_cast<void>(cudaGetLastError());
    rank.barrier();
  });
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"base_and_offset", base_and_offset},
                       {"opening_counts", opening_counts},
                       {"own_handle_is_refused", own_handle_is_refused},
                       {"put_2", [] { put(2); }},
                       {"get_2", [] { get(2); }},
                       {"put_4", [] { put(4); }},
                       {"get_4", [] { get(4); }},
                       {"handle_of_an_inner_pointer", handle_of_an_inner_pointer},
                       {"shared_again", shared_again},
                       {"written_by_the_peer", written_by_the_peer},
                       {"refused_handles", refused_handles},
#ifdef HIRGEN_CPU_DEVICE
                       {"freed_while_open", freed_while_open},
#endif
                   });
}
