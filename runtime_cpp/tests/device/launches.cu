// Tests that kernels see all earlier work of their stream, also if they are launched early, while
// the previous kernel ends.
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"
#include "test.hpp"

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/launches.cu";
constexpr unsigned kThreads = 128, kBlocks = 64;
constexpr int64_t kCount = int64_t{kThreads} * kBlocks;

enum class How { kPlain, kEarly, kClusters };

#ifdef __CUDACC__

/// to[i] = from[kCount - 1 - i] + 1: every block reads what another block of the previous kernel
/// wrote.
__global__ void mirror_kernel(uint32_t* to, const uint32_t* from) {
  await_earlier_kernels();
  release_next_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  to[i] = from[kCount - 1 - i] + 1;
}

void mirror(How how, uint32_t* to, const uint32_t* from, cudaStream_t stream) {
  if (how == How::kPlain) {
    void* arguments[] = {&to, &from};
    OK(cudaLaunchKernel(mirror_kernel, dim3(kBlocks), dim3(kThreads), arguments, 0, stream));
  } else {
    // Uses cudaLaunchKernelEx, with its attributes.
    launch_early(mirror_kernel, dim3(kBlocks), dim3(kThreads), how == How::kClusters ? 4 : 1,
                 stream, kWhere, to, from);
  }
}

#else

void mirror(How /*how*/, uint32_t* to, const uint32_t* from, cudaStream_t stream) {
  hirgen_cpu_launch(stream, [=] {
    for (int64_t i = 0; i < kCount; ++i) to[i] = from[kCount - 1 - i] + 1;
  });
}

#endif

struct Words {
  uint32_t* a = upload(std::vector<uint32_t>(kCount));
  uint32_t* b = upload(std::vector<uint32_t>(kCount));
  cudaStream_t stream = make_stream();

  void expect(const uint32_t* words, uint32_t value) const {
    EXPECT(download(words, kCount) == std::vector<uint32_t>(kCount, value));
  }
};

/// Many kernels in a row, each of which reads everything that the previous one wrote.
void chain(How how) {
  const Words w;
  for (int round = 0; round < 100; ++round) {
    mirror(how, w.b, w.a, w.stream);
    mirror(how, w.a, w.b, w.stream);
  }
  w.expect(w.a, 200);
}

/// Copies and fills before and after kernels.
void between_other_work(How how) {
  const Words w;
  for (int round = 0; round < 50; ++round) {
    OK(cudaMemsetAsync(w.a, round, kCount * sizeof(uint32_t), w.stream));
    mirror(how, w.b, w.a, w.stream);
    mirror(how, w.a, w.b, w.stream);
    OK(cudaMemcpyAsync(w.b, w.a, kCount * sizeof(uint32_t), cudaMemcpyDeviceToDevice, w.stream));
    mirror(how, w.a, w.b, w.stream);
  }
  w.expect(w.a, 49 * 0x01010101 + 3);
}

/// A stream that waits for an event after a kernel sees the kernel's writes.
void before_an_event(How how) {
  const Words w;
  cudaStream_t other = make_stream();
  cudaEvent_t done = make_event(), read = make_event();
  for (int round = 0; round < 50; ++round) {
    mirror(how, w.b, w.a, w.stream);
    OK(cudaEventRecord(done, w.stream));
    OK(cudaStreamWaitEvent(other, done, 0));
    OK(cudaMemcpyAsync(w.a, w.b, kCount * sizeof(uint32_t), cudaMemcpyDeviceToDevice, other));
    OK(cudaEventRecord(read, other));
    OK(cudaStreamWaitEvent(w.stream, read, 0));
  }
  w.expect(w.a, 50);
}

/// Kernels of a graph follow kernels, a copy, a fork and a join.
void in_a_graph(How how) {
  const Words w;
  const Words side;
  cudaEvent_t fork = make_event(), join = make_event();
  OK(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal));
  mirror(how, w.b, w.a, w.stream);
  mirror(how, w.a, w.b, w.stream);
  OK(cudaEventRecord(fork, w.stream));
  OK(cudaStreamWaitEvent(side.stream, fork, 0));
  mirror(how, w.b, w.a, w.stream);
  mirror(how, side.b, w.a, side.stream);
  mirror(how, side.a, side.b, side.stream);
  OK(cudaEventRecord(join, side.stream));
  OK(cudaStreamWaitEvent(w.stream, join, 0));
  mirror(how, w.a, side.a, w.stream);
  OK(cudaMemcpyAsync(w.b, w.a, kCount * sizeof(uint32_t), cudaMemcpyDeviceToDevice, w.stream));
  mirror(how, w.a, w.b, w.stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(w.stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  w.expect(w.a, 0);
  for (int round = 0; round < 20; ++round) OK(cudaGraphLaunch(exec, w.stream));
  w.expect(w.a, 20 * 6);
  OK(cudaGraphExecDestroy(exec));
}

void all(How how) {
  chain(how);
  between_other_work(how);
  before_an_event(how);
  in_a_graph(how);
}

#ifdef __CUDACC__

/// Writes 1 to each of `words` words of dynamic shared memory, and stores their sum.
__global__ void shared_kernel(uint32_t* sum, unsigned words) {
  extern __shared__ uint32_t room[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) room[i] = 1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t total = 0;
  for (unsigned i = 0; i < words; ++i) total += room[i];
  *sum = total;
}

/// A kernel with more than 48 KB of shared memory needs cudaFuncSetAttribute. The CPU device has no
/// kernels with shared memory.
void shared_memory() {
  constexpr size_t kBytes = 96 << 10;
  uint32_t* sum = upload(std::vector<uint32_t>{0});
  auto words = static_cast<unsigned>(kBytes / sizeof(uint32_t));
  void* arguments[] = {&sum, &words};
  const auto launch = [&] {
    return cudaLaunchKernel(shared_kernel, dim3(1), dim3(kThreads), arguments, kBytes, nullptr);
  };
  EXPECT_STATUS(cudaErrorInvalidValue, launch());
  EXPECT_STATUS(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                          static_cast<int>(kBytes)));
  OK(launch());
  EXPECT(download(sum, 1)[0] == words);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"plain", [] { all(How::kPlain); }},
                       {"early", [] { all(How::kEarly); }},
                       {"early_in_clusters", [] { all(How::kClusters); }},
#ifdef __CUDACC__
                       {"shared_memory", shared_memory},
#endif
                   });
}
