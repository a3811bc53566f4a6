// Tests of NCCL calls that do not match between ranks or threads. On a GPU, NCCL hangs, computes
// garbage or crashes. So the tests run only on the CPU device, which reports an error on every
// rank.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <thread>

#include "test.hpp"

using namespace device_test;

#ifdef HIRGEN_CPU_DEVICE
namespace {

struct Side {
  const Rank& rank;
  ncclComm_t comm;
  cudaStream_t stream;
};

/// Makes `call` on two ranks, and expects that both fail with a message that contains `expected`.
void mismatch(const char* expected, const std::function<void(const Side&, float*)>& call) {
  run_ranks(2, [&](const Rank& rank) {
    Side s{rank, make_comm(rank), make_stream()};
    float* data = upload(std::vector<float>(64));
    call(s, data);
    EXPECT_STATUS(cudaErrorLaunchFailure, cudaStreamSynchronize(s.stream));
    ncclResult_t status = ncclSuccess;
    OK(ncclCommGetAsyncError(s.comm, &status));
    EXPECT(status == ncclInvalidUsage);
    std::string text = ncclGetLastError(s.comm);
    if (text.find(expected) == std::string::npos) fail(__FILE__, __LINE__, "message: " + text);
    fflush(nullptr);
    _exit(text.find(expected) == std::string::npos);  // the fault is sticky
  });
}

void mismatched_kind() {
  mismatch("ncclAllGather(8 x ncclFloat32)", [](const Side& s, float* data) {
    if (s.rank.rank == 0) OK(ncclAllGather(data, data, 8, ncclFloat32, s.comm, s.stream));
    if (s.rank.rank == 1) OK(ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, s.comm, s.stream));
  });
}

void mismatched_count() {
  mismatch("x ncclFloat32, ncclMax)", [](const Side& s, float* data) {
    size_t count = s.rank.rank == 0 ? 8 : 9;
    OK(ncclAllReduce(data, data, count, ncclFloat32, ncclMax, s.comm, s.stream));
  });
}

void mismatched_root() {
  mismatch("root 1", [](const Side& s, float* data) {
    OK(ncclBroadcast(data, data, 8, ncclFloat32, s.rank.rank, s.comm, s.stream));
  });
}

void mismatched_message() {
  run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    int* data = upload(std::vector<int>(8));
    if (rank.rank == 0) OK(ncclSend(data, 4, ncclInt32, 1, comm, stream));
    if (rank.rank == 1) OK(ncclRecv(data, 5, ncclInt32, 0, comm, stream));
    EXPECT_STATUS(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
    std::string text = ncclGetLastError(comm);
    EXPECT(text.find("rank 0 issued ncclSend(4 x ncclInt32) to rank 1, rank 1 "
                     "ncclRecv(5 x ncclInt32) from rank 0") != std::string::npos);
  });
}

/// Any thread may ask a blocking communicator for errors. Only the thread that made a non-blocking
/// communicator may ask it, because the query ends the communicator's last call.
void asked_by_two_threads() {
  for (bool blocking : {true, false}) {
    run_ranks(2, [=](const Rank& rank) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking ? 1 : 0;
      auto* id = static_cast<ncclUniqueId*>(rank.memory);
      if (rank.rank == 0) OK(ncclGetUniqueId(id));
      rank.barrier();
      ncclComm_t comm = nullptr;
      ncclCommInitRankConfig(&comm, 2, *id, rank.rank, &config);
      ncclResult_t status = ncclInProgress;
      while (status == ncclInProgress) OK(ncclCommGetAsyncError(comm, &status));
      EXPECT(status == ncclSuccess);
      std::thread([&] { OK(ncclCommGetAsyncError(comm, &status)); }).join();
      EXPECT(status == (blocking ? ncclSuccess : ncclInvalidUsage));
      OK(ncclCommAbort(comm));
    });
  }
}

}  // namespace
#endif

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
#ifdef HIRGEN_CPU_DEVICE
                       {"mismatched_kind", mismatched_kind},
                       {"mismatched_count", mismatched_count},
                       {"mismatched_root", mismatched_root},
                       {"mismatched_message", mismatched_message},
                       {"asked_by_two_threads", asked_by_two_threads},
#endif
                   });
}
