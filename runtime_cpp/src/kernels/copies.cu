// One kernel for several copies within the memory of a GPU.
#include <algorithm>

#include "hirgen/copies.hpp"
#include "hirgen/error.hpp"
#include "hirgen/grid.hpp"
#include "hirgen/launch.hpp"
#include "kernels/copy_elements.hpp"

namespace hirgen {
namespace {

#ifdef __CUDACC__

constexpr int kCopyThreads = 256;
// Two accesses of 16 bytes for each thread: small copies are then spread over many SMs.
constexpr size_t kCopiedPerBlock = 2 * sizeof(uint4) * kCopyThreads;
constexpr size_t kMostCopyBlocks = size_t{132} * 8;

/// Row y of the grid is copy y.
__global__ void __launch_bounds__(kCopyThreads)
    copy_kernel(const __grid_constant__ CopyKernel::List list) {
  await_earlier_kernels();
  release_next_kernel();
  const CopyKernel::Copy& copy = list.copies[blockIdx.y];
  copy_bytes(copy.out, copy.in, copy.bytes, thread_of_grid(blockIdx.x, kCopyThreads, threadIdx.x),
             thread_of_grid(gridDim.x, kCopyThreads, 0));
}

#endif

}  // namespace

void CopyKernel::add(void* out, const void* in, size_t bytes) {
  if (list_.count == kMostCopies) throw Error(Code::kInternal, "too many copies for a kernel");
  list_.copies[list_.count++] = {static_cast<char*>(out), static_cast<const char*>(in), bytes};
}

void CopyKernel::submit(cudaStream_t stream, const char* where) {
  if (list_.count == 0) return;
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
#ifdef __CUDACC__
  size_t largest = 0;
  for (size_t i = 0; i < list_.count; ++i) largest = std::max(largest, list_.copies[i].bytes);
  const size_t wanted = (largest + kCopiedPerBlock - 1) / kCopiedPerBlock;
  const dim3 blocks(
      static_cast<unsigned>(std::clamp(wanted, size_t{1}, kMostCopyBlocks / list_.count)),
      static_cast<unsigned>(list_.count));
  launch_early(copy_kernel, blocks, dim3(kCopyThreads), 1, stream, where, list_);
#else
  host_position.store(where, std::memory_order_relaxed);
  for (const Copy* copy = list_.copies; copy != list_.copies + list_.count; ++copy) {
    const auto loop = [copy = *copy] {
      for (size_t i = 0; i < copy.bytes; ++i) copy.out[i] = copy.in[i];
    };
    hirgen_cpu_launch(stream, loop, where);
  }
#endif
}

}  // namespace hirgen
