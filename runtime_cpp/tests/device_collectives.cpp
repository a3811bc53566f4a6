// NCCL collectives: values, types, reductions, in place, and what completion means.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <unistd.h>

#include <atomic>

#include "device_test.hpp"

using namespace device_test;

namespace {

std::vector<float> pattern(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(rank * 1000) + static_cast<float>(i % 997);
  return values;
}

void all_gather(int size) {
  run_ranks(size, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t stream = make_stream();
    constexpr size_t kCount = 5000;
    float* send = upload(pattern(rank.rank, kCount));
    float* receive = upload(std::vector<float>(kCount * static_cast<size_t>(rank.size)));
    for (int round = 0; round < 3; ++round) {
      OK(ncclAllGather(send, receive, kCount, ncclFloat32, comm, stream));
    }
    std::vector<float> got = download(receive, kCount * static_cast<size_t>(rank.size));
    for (int r = 0; r < rank.size; ++r) {
      std::vector<float> expected = pattern(r, kCount);
      auto begin = got.begin() + static_cast<std::ptrdiff_t>(kCount) * r;
      EXPECT(std::equal(expected.begin(), expected.end(), begin));
    }
    OK(ncclCommDestroy(comm));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"all_gather_1", [] { all_gather(1); }},
                       {"all_gather_2", [] { all_gather(2); }},
                       {"all_gather_8", [] { all_gather(8); }},
                   });
}
