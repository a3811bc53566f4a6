// A parallel loop for both devices: a grid-stride kernel on a GPU, a sequential loop on a stream of
// the CPU device. Include this only in .cu files, which are compiled for the device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "hirgen/error.hpp"
#include "hirgen/grid.hpp"
#include "hirgen/host_device.hpp"
#include "hirgen/launch.hpp"

namespace hirgen {

#ifdef __CUDACC__

/// A grid-stride loop: calls f(i) for i = this thread's index in the grid, and then for i plus each
/// multiple of the grid's number of threads, while i < n.
template <typename F>
__global__ void parallel_for_kernel(int64_t n, F f) {
  await_earlier_kernels();
  release_next_kernel();
  const int64_t step = thread_of_grid(gridDim.x, blockDim.x, 0);
  for (int64_t i = thread_of_grid(blockIdx.x, blockDim.x, threadIdx.x); i < n; i += step) f(i);
}

#endif

/// Enqueues f(i) for every i in [0, n) on `stream`, in no particular order; nothing if n <= 0. F is
/// a functor with a HG_HOST_DEVICE operator()(int64_t) const; f is copied. `where` is the spec
/// position for errors and must outlive the program, as a literal does.
template <typename F>
void parallel_for(int64_t n, cudaStream_t stream, const char* where, F f) {
  if (n <= 0) return;
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
#ifdef __CUDACC__
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMaxBlocks = int64_t{1} << 20;  // for larger n, threads loop
  const int64_t blocks = std::min((n + kThreads - 1) / kThreads, kMaxBlocks);
  launch_early(parallel_for_kernel<F>, grid_of(blocks, where), dim3(kThreads), 1, stream, where, n,
               f);
#else
  host_position.store(where, std::memory_order_relaxed);
  const auto loop = [n, f] {
    for (int64_t i = 0; i < n; ++i) f(i);
  };
  hirgen_cpu_launch(stream, loop, where);
#endif
}

}  // namespace hirgen
