// What kernels do with flags: they wait for those of this rank and write those of peers. For .cu
// files alone; the CPU device has operations of its stream for that.
#pragma once

#ifdef __CUDACC__

#include <cuda.h>

#include <cstdint>

#include "hirgen/flags.hpp"

namespace hirgen {

/// The sequence number, that of the call under way when a kernel gets here.
__device__ inline uint32_t value_of(const SequenceNumber& sequence) {
  return sequence.counter == nullptr ? sequence.value : sequence.value + *sequence.counter;
}

/// Waits until the flag has reached `sequence`. What its writer wrote before is visible then.
__device__ inline void wait_flag(CUdeviceptr flag, uint32_t sequence) {
  uint32_t value = 0;
  while (true) {
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    if (static_cast<int32_t>(value - sequence) >= 0) return;
    __nanosleep(32);
  }
}

/// Writes a flag, after all that this thread knows to be written.
__device__ inline void write_flag(CUdeviceptr flag, uint32_t sequence) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(flag), "r"(sequence) : "memory");
}

/// Whether the calling block, all of whose threads call this, is the last of its grid to do so; all
/// that the grid did before is done then. `blocks` counts them, and is left at zero for the next
/// kernel.
__device__ inline bool is_last_block(uint32_t* blocks) {
  __shared__ bool last;
  __syncthreads();
  if (gridDim.x == 1) return true;
  if (threadIdx.x == 0) {
    __threadfence_system();
    last = atomicInc(blocks, gridDim.x - 1) == gridDim.x - 1;
    __threadfence_system();
  }
  __syncthreads();
  return last;
}

}  // namespace hirgen

#endif
