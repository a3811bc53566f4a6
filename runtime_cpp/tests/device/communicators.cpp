// Tests of making, splitting and ending communicators, blocking and non-blocking, between processes
// and threads.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

ncclConfig_t config(bool blocking) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking ? 1 : 0;
  return config;
}

/// Polls until the last call on the communicator is done, as programs with a deadline do.
void settle(ncclComm_t comm) {
  ncclResult_t status = ncclInProgress;
  for (int i = 0; i < 20000 && status == ncclInProgress; ++i) {
    OK(ncclCommGetAsyncError(comm, &status));
    if (status == ncclInProgress) usleep(1000);
  }
  EXPECT_STATUS(ncclSuccess, status);
}

void accept_in_progress(ncclResult_t status) {
  EXPECT(status == ncclSuccess || status == ncclInProgress);
}

/// The sum of all ranks' numbers, which shows that a communicator works and has the right ranks.
int sum_over(ncclComm_t comm, int number, bool blocking = true) {
  cudaStream_t stream = make_stream();
  int* data = upload(std::vector<int>{number});
  accept_in_progress(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream));
  if (!blocking) settle(comm);
  OK(cudaStreamSynchronize(stream));
  return download(data, 1)[0];
}

/// A unique id, made by rank 0, in the memory that the ranks share.
ncclUniqueId share_id(const Rank& rank) {
  need_own_gpus();
  auto* id = static_cast<ncclUniqueId*>(rank.memory);
  if (rank.rank == 0) OK(ncclGetUniqueId(id));
  rank.barrier();
  return *id;
}

void non_blocking() {
  run_ranks(2, [](const Rank& rank) {
    ncclUniqueId id = share_id(rank);
    ncclConfig_t settings = config(false);
    ncclComm_t comm = nullptr;
    if (rank.rank == 1) usleep(100000);  // rank 0's call returns before rank 1 calls
    accept_in_progress(ncclCommInitRankConfig(&comm, 2, id, rank.rank, &settings));
    settle(comm);
    EXPECT(sum_over(comm, rank.rank + 1, false) == 3);
    int number = -1;
    OK(ncclCommCount(comm, &number));
    EXPECT(number == 2);
    OK(ncclCommUserRank(comm, &number));
    EXPECT(number == rank.rank);
    OK(ncclCommCuDevice(comm, &number));
    EXPECT(number == rank.rank);
    accept_in_progress(ncclCommFinalize(comm));
    settle(comm);
    OK(ncclCommDestroy(comm));
  });
}

/// Splits a parent into communicators of the rows and columns of a 2 x 2 mesh, with blocking or
/// non-blocking calls.
void split(bool blocking) {
  run_ranks(4, [=](const Rank& rank) {
    ncclUniqueId id = share_id(rank);
    ncclConfig_t settings = config(blocking);
    ncclComm_t world = nullptr, row = nullptr, column = nullptr;
    accept_in_progress(ncclCommInitRankConfig(&world, 4, id, rank.rank, &settings));
    if (!blocking) settle(world);
    int y = rank.rank / 2, x = rank.rank % 2;
    auto split_off = [&](int color, int key, ncclComm_t* result) {
      accept_in_progress(ncclCommSplit(world, color, key, result, &settings));
      if (blocking) return;
      settle(world);
      settle(*result);
    };
    split_off(y, x, &row);
    split_off(x, -y, &column);  // keys order the ranks: here in reverse
    EXPECT(sum_over(row, 1 << rank.rank, blocking) == (y == 0 ? 3 : 12));
    EXPECT(sum_over(column, 1 << rank.rank, blocking) == (x == 0 ? 5 : 10));
    int number = -1;
    OK(ncclCommUserRank(column, &number));
    EXPECT(number == 1 - y);
    EXPECT(sum_over(world, 1 << rank.rank, blocking) == 15);
    for (ncclComm_t comm : {row, column, world}) OK(ncclCommDestroy(comm));
  });
}

/// A rank without a colour takes part in the split and gets no communicator.
void split_without_colour() {
  run_ranks(3, [](const Rank& rank) {
    ncclComm_t world = make_comm(rank), part = nullptr;
    OK(ncclCommSplit(world, rank.rank == 1 ? NCCL_SPLIT_NOCOLOR : 0, rank.rank, &part, nullptr));
    EXPECT((part == nullptr) == (rank.rank == 1));
    if (part != nullptr) {
      EXPECT(sum_over(part, rank.rank + 1) == 4);
      OK(ncclCommDestroy(part));
    }
    EXPECT(sum_over(world, 1) == 3);
    OK(ncclCommDestroy(world));
  });
}

/// Two communicators of the same ranks, used on two streams at once.
void two_communicators() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t first = make_comm(rank);
    rank.barrier();
    ncclComm_t second = make_comm(rank);
    cudaStream_t a = make_stream(), b = make_stream();
    int *x = upload(std::vector<int>{1}), *y = upload(std::vector<int>{1});
    for (int i = 0; i < 10; ++i) {
      OK(ncclAllReduce(x, x, 1, ncclInt32, ncclSum, first, a));
      OK(ncclAllReduce(y, y, 1, ncclInt32, ncclSum, second, b));
    }
    EXPECT(download(x, 1)[0] == 1024);
    EXPECT(download(y, 1)[0] == 1024);
    OK(ncclCommDestroy(first));
    OK(ncclCommDestroy(second));
  });
}

/// Aborting releases a stream that waits for a peer which will never come.
void abort_releases_the_stream() {
  run_ranks(2, [](const Rank& rank) {
    ncclUniqueId id = share_id(rank);
    ncclConfig_t settings = config(false);
    ncclComm_t comm = nullptr;
    accept_in_progress(ncclCommInitRankConfig(&comm, 2, id, rank.rank, &settings));
    settle(comm);
    EXPECT(sum_over(comm, 1, false) == 2);
    if (rank.rank == 0) {
      cudaStream_t stream = make_stream();
      int* data = upload(std::vector<int>{1, 2});
      accept_in_progress(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream));
      settle(comm);
      usleep(50000);
      EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(stream));
      OK(ncclCommAbort(comm));
      OK(cudaStreamSynchronize(stream));
    }
    rank.barrier();
    if (rank.rank == 1) OK(ncclCommAbort(comm));
  });
}

/// Two ranks on one device are refused.
void one_device_for_two_ranks() {
  run_ranks(2, [](const Rank& rank) {
    OK(cudaSetDevice(0));
    auto* id = static_cast<ncclUniqueId*>(rank.memory);
    if (rank.rank == 0) OK(ncclGetUniqueId(id));
    rank.barrier();
    ncclComm_t comm = nullptr;
    EXPECT_STATUS(ncclInvalidUsage, ncclCommInitRank(&comm, 2, *id, rank.rank));
  });
}

/// Ranks as threads of one process, one device each.
void threads() {
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  if (devices < 2) skip("needs 2 devices");
  ncclUniqueId id;
  OK(ncclGetUniqueId(&id));
  std::vector<std::thread> ranks;
  for (int r = 0; r < 2; ++r) {
    ranks.emplace_back([r, id] {
      OK(cudaSetDevice(r));
      ncclComm_t comm = nullptr;
      OK(ncclCommInitRank(&comm, 2, id, r));
      for (int round = 0; round < 5; ++round) EXPECT(sum_over(comm, r + 1) == 3);
      OK(ncclCommDestroy(comm));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

/// One thread, two devices: initialisation and operations in groups.
void one_thread_two_ranks() {
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  if (devices < 2) skip("needs 2 devices");
  ncclUniqueId id;
  OK(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  cudaStream_t streams[2];
  int* data[2];
  OK(ncclGroupStart());
  for (int r = 0; r < 2; ++r) {
    OK(cudaSetDevice(r));
    OK(ncclCommInitRank(&comms[r], 2, id, r));
  }
  OK(ncclGroupEnd());
  for (int r = 0; r < 2; ++r) {
    OK(cudaSetDevice(r));
    streams[r] = make_stream();
    data[r] = upload(std::vector<int>{r + 1});
  }
  OK(ncclGroupStart());
  for (int r = 0; r < 2; ++r) {
    OK(ncclAllReduce(data[r], data[r], 1, ncclInt32, ncclSum, comms[r], streams[r]));
  }
  OK(ncclGroupEnd());
  for (int r = 0; r < 2; ++r) {
    OK(cudaSetDevice(r));
    EXPECT(download(data[r], 1)[0] == 3);
  }
  for (ncclComm_t comm : comms) OK(ncclCommDestroy(comm));
}

void bad_arguments() {
  ncclUniqueId id;
  OK(ncclGetUniqueId(&id));
  ncclComm_t comm = nullptr;
  EXPECT_STATUS(ncclInvalidArgument, ncclCommInitRank(&comm, 2, id, 2));
  EXPECT_STATUS(ncclInvalidArgument, ncclCommInitRank(&comm, 0, id, 0));
  int version = 0;
  OK(ncclGetVersion(&version));
  EXPECT(version >= NCCL_VERSION(2, 18, 0));
  EXPECT(std::string(ncclGetErrorString(ncclSuccess)) == "no error");
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"non_blocking", non_blocking},
                       {"split_blocking", [] { split(true); }},
                       {"split_non_blocking", [] { split(false); }},
                       {"split_without_colour", split_without_colour},
                       {"two_communicators", two_communicators},
                       {"abort_releases_the_stream", abort_releases_the_stream},
                       {"one_device_for_two_ranks", one_device_for_two_ranks},
                       {"threads", threads},
                       {"one_thread_two_ranks", one_thread_two_ranks},
                       {"bad_arguments", bad_arguments},
                   });
}
