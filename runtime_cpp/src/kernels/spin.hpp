// What kernels do with the words that ranks share: they wait for those of this rank and write those
// of peers. For .cu files alone; the CPU device has operations of its stream for that.
#pragma once

#ifdef __CUDACC__

#include <cuda.h>

#include <cstdint>

#include "hirgen/words.hpp"

namespace hirgen {

/// The number of the call that is under way when a kernel gets here.
__device__ inline uint32_t number_of(const CallNumber& call) {
  return call.counter == nullptr ? call.value : call.value + *call.counter;
}

/// Waits until the word has reached `number`. What its writer wrote before is visible then.
__device__ inline void spin(CUdeviceptr word, uint32_t number) {
  uint32_t value = 0;
  while (true) {
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    if (static_cast<int32_t>(value - number) >= 0) return;
    __nanosleep(32);
  }
}

/// Writes a word, after all that this thread knows to be written.
__device__ inline void publish(CUdeviceptr word, uint32_t number) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(word), "r"(number) : "memory");
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
