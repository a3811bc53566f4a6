// Functions with which kernels wait for this rank's flags and write flags of peers. For .cu files
// only; the CPU device uses stream operations instead.
#pragma once

#ifdef __CUDACC__

#include <cuda.h>

#include <cstdint>

#include "hirgen/flags.hpp"

namespace hirgen {

/// The sequence number of the current call, when the kernel reads it.
__device__ inline uint32_t value_of(const SequenceNumber& sequence) {
  return sequence.counter == nullptr ? sequence.value : sequence.value + *sequence.counter;
}

/// Whether the flag has reached `sequence`. If so, all writes that its writer made before it are
/// visible.
__device__ inline bool has_reached(CUdeviceptr flag, uint32_t sequence) {
  uint32_t value = 0;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return static_cast<int32_t>(value - sequence) >= 0;
}

/// Waits until the flag has reached `sequence`. All writes that its writer made before it are then
/// visible.
__device__ inline void wait_flag(CUdeviceptr flag, uint32_t sequence) {
  while (!has_reached(flag, sequence)) __nanosleep(32);
}

/// wait_flag() without pauses, for the lowest latency.
__device__ inline void spin_on_flag(CUdeviceptr flag, uint32_t sequence) {
  while (!has_reached(flag, sequence)) {
  }
}

/// Writes a flag, after all writes that this thread has made or observed.
__device__ inline void write_flag(CUdeviceptr flag, uint32_t sequence) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(flag), "r"(sequence) : "memory");
}

/// Whether the calling block is the last of gridDim.x blocks to call this with `blocks`. All
/// threads of a block must call it. In the last block, the earlier work of all these blocks is
/// complete. `blocks` counts the calls; the last one resets it to zero.
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
