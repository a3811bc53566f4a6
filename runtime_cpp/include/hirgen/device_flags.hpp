// Device functions with which kernels wait for flags of this rank and write flags of peers. Only
// code that nvcc compiles has them; the CPU device uses operations on streams instead.
#pragma once

#ifdef __CUDACC__

#include <cuda.h>

#include <cstdint>

#include "hirgen/flags.hpp"

namespace hirgen {

/// Returns `sequence.value` plus the current value of the counter, if there is a counter.
__device__ inline uint32_t value_of(const SequenceNumber& sequence) {
  return sequence.counter == nullptr ? sequence.value : sequence.value + *sequence.counter;
}

/// Returns whether the flag has reached `sequence` (modulo 2^32). If so, all writes that precede
/// the write of the flag are visible to this thread.
__device__ inline bool has_reached(CUdeviceptr flag, uint32_t sequence) {
  uint32_t value = 0;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return static_cast<int32_t>(value - sequence) >= 0;
}

/// Waits until the flag has reached `sequence`. All writes that precede the write of the flag are
/// then visible to this thread.
__device__ inline void wait_flag(CUdeviceptr flag, uint32_t sequence) {
  while (!has_reached(flag, sequence)) __nanosleep(32);
}

/// wait_flag() without pauses, for the lowest latency.
__device__ inline void spin_on_flag(CUdeviceptr flag, uint32_t sequence) {
  while (!has_reached(flag, sequence)) {
  }
}

/// Writes `sequence` to a flag. A thread that reads this value with has_reached() also sees all
/// writes that this thread has made or observed.
__device__ inline void write_flag(CUdeviceptr flag, uint32_t sequence) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(flag), "r"(sequence) : "memory");
}

/// Returns whether the calling block is the last of gridDim.x blocks that call this with the same
/// `blocks`. All threads of a block must call this. In the last block, the earlier writes of all
/// these blocks are visible. `*blocks` counts the blocks that have called. It must be zero at
/// first, and the last block resets it to zero.
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
