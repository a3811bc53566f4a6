// Tests of NCCL groups: their contents, the calls that they refuse, and collectives that are groups
// of messages.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>

#include "test.hpp"

using namespace device_test;

namespace {

/// The objects that one rank needs for a case.
struct Setup {
  explicit Setup(const Rank& rank) : rank(rank), comm(make_comm(rank)), stream(make_stream()) {}
  ~Setup() {
    OK(cudaStreamSynchronize(stream));
    OK(ncclCommDestroy(comm));
  }
  const Rank& rank;
  ncclComm_t comm;
  cudaStream_t stream;
};

/// No call starts before the outermost group ends.
void nested() {
  run_ranks(2, [](const Rank& rank) {
    const Setup s(rank);
    int* data = upload(std::vector<int>{rank.rank + 1, 0});
    OK(ncclGroupStart());
    OK(ncclGroupStart());
    OK(ncclAllReduce(data, data + 1, 1, ncclInt32, ncclSum, s.comm, s.stream));
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(s.stream));
    EXPECT(download(data, 2)[1] == 0);
    OK(ncclGroupEnd());
    EXPECT(download(data, 2)[1] == 3);
  });
}

void empty() {
  OK(ncclGroupStart());
  OK(ncclGroupEnd());
  EXPECT_STATUS(ncclInvalidUsage, ncclGroupEnd());
}

/// If a group refuses a call, the end of the group fails, and none of its calls run.
void refused_call() {
  run_ranks(2, [](const Rank& rank) {
    const Setup s(rank);
    int* data = upload(std::vector<int>{rank.rank + 1, 0});
    OK(ncclGroupStart());
    OK(ncclAllReduce(data, data + 1, 1, ncclInt32, ncclSum, s.comm, s.stream));
    EXPECT_STATUS(ncclInvalidArgument,
                  ncclBroadcast(data, data, 1, ncclInt32, 5, s.comm, s.stream));
    EXPECT_STATUS(ncclInvalidArgument, ncclGroupEnd());
    OK(cudaStreamSynchronize(s.stream));
    EXPECT(download(data, 2)[1] == 0);
    // The refused call does not affect the next group.
    OK(ncclGroupStart());
    OK(ncclAllReduce(data, data + 1, 1, ncclInt32, ncclSum, s.comm, s.stream));
    OK(ncclGroupEnd());
    EXPECT(download(data, 2)[1] == 3);
  });
}

/// Calls with no elements are allowed on every rank, and write nothing.
void nothing_to_move() {
  run_ranks(2, [](const Rank& rank) {
    const Setup s(rank);
    int* data = upload(std::vector<int>{7, 8});
    OK(ncclAllReduce(data, data + 1, 0, ncclInt32, ncclSum, s.comm, s.stream));
    OK(ncclAllGather(data, data + 1, 0, ncclInt32, s.comm, s.stream));
    OK(ncclGroupStart());
    OK(ncclSend(data, 0, ncclInt32, 1 - rank.rank, s.comm, s.stream));
    OK(ncclRecv(data + 1, 0, ncclInt32, 1 - rank.rank, s.comm, s.stream));
    OK(ncclGroupEnd());
    EXPECT(download(data, 2) == (std::vector<int>{7, 8}));
  });
}

/// Gather and scatter as groups: the root exchanges a message with every rank, including itself.
void gather_and_scatter(int size) {
  run_ranks(size, [](const Rank& rank) {
    const Setup s(rank);
    constexpr size_t kCount = 3000;
    const auto ranks = static_cast<size_t>(rank.size);
    int* part = upload(std::vector<int>(kCount, rank.rank + 1));
    int* whole = upload(std::vector<int>(kCount * ranks));
    for (int root = 0; root < rank.size; ++root) {
      OK(ncclGroupStart());
      OK(ncclSend(part, kCount, ncclInt32, root, s.comm, s.stream));
      for (int r = 0; rank.rank == root && r < rank.size; ++r) {
        OK(ncclRecv(whole + static_cast<size_t>(r) * kCount, kCount, ncclInt32, r, s.comm,
                    s.stream));
      }
      OK(ncclGroupEnd());
      OK(cudaMemsetAsync(part, 0, kCount * sizeof(int), s.stream));
      OK(ncclGroupStart());
      for (int r = 0; rank.rank == root && r < rank.size; ++r) {
        OK(ncclSend(whole + static_cast<size_t>(r) * kCount, kCount, ncclInt32, r, s.comm,
                    s.stream));
      }
      OK(ncclRecv(part, kCount, ncclInt32, root, s.comm, s.stream));
      OK(ncclGroupEnd());
    }
    EXPECT(download(part, kCount) == std::vector<int>(kCount, rank.rank + 1));
    for (size_t r = 0; r < ranks; ++r) {
      EXPECT(download(whole + r * kCount, kCount) ==
             std::vector<int>(kCount, static_cast<int>(r) + 1));
    }
  });
}

/// Every rank in turn is the root of a broadcast and of a sum, in one group and in place.
void every_root(int size) {
  run_ranks(size, [](const Rank& rank) {
    const Setup s(rank);
    const auto ranks = static_cast<size_t>(rank.size);
    int* sent = upload(std::vector<int>(ranks, rank.rank + 1));
    int* summed = upload(std::vector<int>(ranks, rank.rank + 1));
    OK(ncclGroupStart());
    for (int root = 0; root < rank.size; ++root) {
      OK(ncclBroadcast(sent + root, sent + root, 1, ncclInt32, root, s.comm, s.stream));
      OK(ncclReduce(summed + root, summed + root, 1, ncclInt32, ncclSum, root, s.comm, s.stream));
    }
    OK(ncclGroupEnd());
    const std::vector<int> got = download(sent, ranks);
    for (size_t r = 0; r < ranks; ++r) EXPECT(got[r] == static_cast<int>(r) + 1);
    EXPECT(download(summed + rank.rank, 1)[0] == rank.size * (rank.size + 1) / 2);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"nested", nested},
                       {"empty", empty},
                       {"refused_call", refused_call},
                       {"nothing_to_move", nothing_to_move},
                       {"gather_and_scatter_2", [] { gather_and_scatter(2); }},
                       {"gather_and_scatter_4", [] { gather_and_scatter(4); }},
                       {"every_root_2", [] { every_root(2); }},
                       {"every_root_3", [] { every_root(3); }},
                   });
}
