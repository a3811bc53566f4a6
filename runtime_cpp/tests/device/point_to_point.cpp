// Tests of NCCL send and receive, alone and in groups.
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

/// Each rank sends to the next and receives from the previous one in one group; after `size`
/// rounds, its data is back.
void ring(int size) {
  run_ranks(size, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    int next = (rank.rank + 1) % rank.size, previous = (rank.rank + rank.size - 1) % rank.size;
    constexpr size_t kCount = 10000;
    int* a = upload(std::vector<int>(kCount, rank.rank));
    int* b = upload(std::vector<int>(kCount, -1));
    for (int round = 0; round < rank.size; ++round) {
      OK(ncclGroupStart());
      OK(ncclSend(a, kCount, ncclInt32, next, comm, stream));
      OK(ncclRecv(b, kCount, ncclInt32, previous, comm, stream));
      OK(ncclGroupEnd());
      std::swap(a, b);
    }
    EXPECT(download(a, kCount) == std::vector<int>(kCount, rank.rank));
    EXPECT(download(b, kCount) == std::vector<int>(kCount, next));
    OK(ncclCommDestroy(comm));
  });
}

/// Every rank sends to every rank, with a different size for each pair.
void all_to_all(int size) {
  run_ranks(size, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    auto count = [](int from, int to) { return static_cast<size_t>(100 + from * 10 + to); };
    std::vector<int*> in, out;
    OK(ncclGroupStart());
    for (int peer = 0; peer < rank.size; ++peer) {
      in.push_back(upload(std::vector<int>(count(rank.rank, peer), rank.rank * 100 + peer)));
      out.push_back(upload(std::vector<int>(count(peer, rank.rank))));
      OK(ncclSend(in.back(), count(rank.rank, peer), ncclInt32, peer, comm, stream));
      OK(ncclRecv(out.back(), count(peer, rank.rank), ncclInt32, peer, comm, stream));
    }
    OK(ncclGroupEnd());
    for (int peer = 0; peer < rank.size; ++peer) {
      EXPECT(download(out[static_cast<size_t>(peer)], count(peer, rank.rank)) ==
             std::vector<int>(count(peer, rank.rank), peer * 100 + rank.rank));
    }
    OK(ncclCommDestroy(comm));
  });
}

/// Many messages between two ranks keep their order, in one group and over several.
void message_order() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    constexpr size_t kMessages = 30;
    std::vector<int> numbers(kMessages);
    std::iota(numbers.begin(), numbers.end(), 0);
    int* data = upload(rank.rank == 0 ? numbers : std::vector<int>(kMessages, -1));
    for (int round = 0; round < 3; ++round) {
      OK(ncclGroupStart());
      for (size_t i = 0; i < kMessages; ++i) {
        if (rank.rank == 0) OK(ncclSend(data + i, 1, ncclInt32, 1, comm, stream));
        if (rank.rank == 1) OK(ncclRecv(data + i, 1, ncclInt32, 0, comm, stream));
      }
      OK(ncclGroupEnd());
    }
    EXPECT(download(data, kMessages) == numbers);
    OK(ncclCommDestroy(comm));
  });
}

/// A chain without groups: each rank receives, then sends.
void chain(int size) {
  run_ranks(size, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    int* data = upload(std::vector<int>{rank.rank == 0 ? 42 : 0});
    if (rank.rank > 0) OK(ncclRecv(data, 1, ncclInt32, rank.rank - 1, comm, stream));
    if (rank.rank + 1 < rank.size) OK(ncclSend(data, 1, ncclInt32, rank.rank + 1, comm, stream));
    EXPECT(download(data, 1)[0] == 42);
    OK(ncclCommDestroy(comm));
  });
}

/// A collective and messages in one group.
void mixed_group() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    int peer = 1 - rank.rank;
    int* in = upload(std::vector<int>{rank.rank + 1});
    int* out = upload(std::vector<int>{0, 0, 0});
    OK(ncclGroupStart());
    OK(ncclSend(in, 1, ncclInt32, peer, comm, stream));
    OK(ncclAllGather(in, out, 1, ncclInt32, comm, stream));
    OK(ncclRecv(out + 2, 1, ncclInt32, peer, comm, stream));
    OK(ncclGroupEnd());
    EXPECT(download(out, 3) == (std::vector<int>{1, 2, peer + 1}));
    OK(ncclCommDestroy(comm));
  });
}

/// A group whose calls are on two streams waits for both, and both wait for it.
void group_over_two_streams() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t first = make_stream(), second = make_stream();
    int peer = 1 - rank.rank;
    char* data = upload(std::vector<char>(4));
    OK(cudaMemsetAsync(data, rank.rank + 1, 1, first));
    OK(ncclGroupStart());
    OK(ncclSend(data, 1, ncclInt8, peer, comm, first));
    OK(ncclRecv(data + 1, 1, ncclInt8, peer, comm, second));
    OK(ncclGroupEnd());
    OK(cudaMemcpyAsync(data + 2, data + 1, 1, cudaMemcpyDeviceToDevice, second));
    OK(cudaStreamSynchronize(second));
    EXPECT(download(data, 4)[2] == peer + 1);
    OK(ncclCommDestroy(comm));
  });
}

#ifdef HIRGEN_CPU_DEVICE
/// On the CPU device, a send completes only with its receive. NCCL may complete a small send
/// earlier, from an internal buffer.
void send_needs_its_receive() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    int* data = upload(std::vector<int>{rank.rank});
    auto& receiving = *static_cast<std::atomic<int>*>(rank.memory);
    rank.barrier();
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      receiving.store(1);
      OK(ncclRecv(data, 1, ncclInt32, 0, comm, stream));
    } else {
      OK(ncclSend(data, 1, ncclInt32, 1, comm, stream));
    }
    OK(cudaStreamSynchronize(stream));
    EXPECT(receiving.load() == 1);
    EXPECT(download(data, 1)[0] == 0);
    OK(ncclCommDestroy(comm));
  });
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"ring_1", [] { ring(1); }},
                       {"ring_2", [] { ring(2); }},
                       {"ring_8", [] { ring(8); }},
                       {"all_to_all_2", [] { all_to_all(2); }},
                       {"all_to_all_4", [] { all_to_all(4); }},
                       {"all_to_all_8", [] { all_to_all(8); }},
                       {"message_order", message_order},
                       {"chain_2", [] { chain(2); }},
                       {"chain_4", [] { chain(4); }},
                       {"mixed_group", mixed_group},
                       {"group_over_two_streams", group_over_two_streams},
#ifdef HIRGEN_CPU_DEVICE
                       {"send_needs_its_receive", send_needs_its_receive},
#endif
                   });
}
