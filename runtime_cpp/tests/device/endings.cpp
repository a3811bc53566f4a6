// Tests of how communicators end: in any order, with work under way, and by an abort.
#include <cuda_runtime.h>
#include <nccl.h>

#include "test.hpp"

using namespace device_test;

namespace {

/// The sum of all ranks' numbers, which shows that a communicator works.
int sum_over(ncclComm_t comm, int number) {
  cudaStream_t stream = make_stream();
  int* data = upload(std::vector<int>{number});
  OK(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream));
  OK(cudaStreamSynchronize(stream));
  return download(data, 1)[0];
}

/// After a split, the parent still works without the child, and the child without the parent.
void parent_and_child(bool parent_first) {
  run_ranks(2, [=](const Rank& rank) {
    ncclComm_t parent = make_comm(rank), child = nullptr;
    OK(ncclCommSplit(parent, 0, -rank.rank, &child, nullptr));
    int number = -1, device = -1;
    OK(ncclCommUserRank(child, &number));
    EXPECT(number == 1 - rank.rank);
    OK(ncclCommCount(child, &number));
    EXPECT(number == 2);
    OK(ncclCommCuDevice(child, &device));
    EXPECT(device == rank.rank);
    EXPECT(sum_over(parent, rank.rank + 1) == 3);
    EXPECT(sum_over(child, rank.rank + 1) == 3);
    OK(ncclCommDestroy(parent_first ? parent : child));
    EXPECT(sum_over(parent_first ? child : parent, rank.rank + 5) == 11);
    OK(ncclCommDestroy(parent_first ? child : parent));
  });
}

/// Ranks may destroy two communicators in different orders.
void orders_of_two() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t first = make_comm(rank);
    rank.barrier();
    ncclComm_t second = make_comm(rank);
    EXPECT(sum_over(first, 1) == 2 && sum_over(second, 2) == 4);
    OK(ncclCommFinalize(first));
    OK(ncclCommFinalize(second));
    OK(ncclCommDestroy(rank.rank == 0 ? first : second));
    OK(ncclCommDestroy(rank.rank == 0 ? second : first));
  });
}

/// Work that was issued before a communicator ends completes, with the right result.
void work_under_way() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    constexpr size_t kCount = 1 << 18;
    int* data = upload(std::vector<int>(kCount, 1));
    for (int i = 0; i < 5; ++i) {
      OK(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, comm, stream));
    }
    OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    OK(cudaStreamSynchronize(stream));
    EXPECT(download(data, kCount) == std::vector<int>(kCount, 32));
  });
}

/// A working communicator has no error, and aborting it is no error. Ending a null communicator is
/// no error, either.
void aborted_when_idle() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    EXPECT(sum_over(comm, 4) == 8);
    ncclResult_t status = ncclInProgress;
    OK(ncclCommGetAsyncError(comm, &status));
    EXPECT_STATUS(ncclSuccess, status);
    rank.barrier();
    OK(ncclCommAbort(comm));
    OK(cudaDeviceSynchronize());
    OK(ncclCommFinalize(nullptr));
    OK(ncclCommDestroy(nullptr));
    OK(ncclCommAbort(nullptr));
  });
}

/// After an abort the process can make a new communicator, which works.
void made_again_after_an_abort() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    EXPECT(sum_over(comm, 1) == 2);
    OK(ncclCommAbort(comm));
    rank.barrier();
    comm = make_comm(rank);
    EXPECT(sum_over(comm, rank.rank) == 1);
    OK(ncclCommDestroy(comm));
  });
}

/// Calls that do not end a communicator refuse a null one, except ncclGetLastError.
void no_communicator() {
  int number = 0;
  ncclResult_t status = ncclSuccess;
  int* data = upload(std::vector<int>{1});
  EXPECT_STATUS(ncclInvalidArgument,
                ncclAllReduce(data, data, 1, ncclInt32, ncclSum, nullptr, nullptr));
  EXPECT_STATUS(ncclInvalidArgument, ncclCommCount(nullptr, &number));
  EXPECT_STATUS(ncclInvalidArgument, ncclCommGetAsyncError(nullptr, &status));
  EXPECT(ncclGetLastError(nullptr) != nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"parent_first", [] { parent_and_child(true); }},
                       {"child_first", [] { parent_and_child(false); }},
                       {"orders_of_two", orders_of_two},
                       {"work_under_way", work_under_way},
                       {"aborted_when_idle", aborted_when_idle},
                       {"made_again_after_an_abort", made_again_after_an_abort},
                       {"no_communicator", no_communicator},
                   });
}
