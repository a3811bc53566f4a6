// The work of one thread in a kernel that copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hirgen/host_device.hpp"

namespace hirgen {

/// Copies the elements me, me + step, ... below `count`. A thread issues up to eight reads before
/// it writes.
template <typename T>
HG_HOST_DEVICE void copy_elements(T* out, const T* in, size_t count, size_t me, size_t step) {
  constexpr int kAtOnce = 8;
  for (size_t first = me; first < count; first += kAtOnce * step) {
    T part[kAtOnce];
    HG_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * step < count) part[k] = in[first + k * step];
    }
    HG_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * step < count) out[first + k * step] = part[k];
    }
  }
}

/// Copies this thread's share of the whole, aligned Ts of `out`, then of the bytes before and after
/// them. `in` must have the same address modulo sizeof(T) as `out`.
template <typename T>
HG_HOST_DEVICE void copy_as(char* out, const char* in, size_t bytes, size_t me, size_t step) {
  const size_t ahead = (sizeof(T) - reinterpret_cast<size_t>(out) % sizeof(T)) % sizeof(T);
  const size_t head = ahead < bytes ? ahead : bytes;
  const size_t whole = (bytes - head) / sizeof(T);
  const size_t tail = head + whole * sizeof(T);
  copy_elements(reinterpret_cast<T*>(out + head), reinterpret_cast<const T*>(in + head), whole, me,
                step);
  copy_elements(out, in, head, me, step);
  copy_elements(out + tail, in + tail, bytes - tail, me, step);
}

#ifdef __CUDACC__

/// Copies this thread's share of `bytes` bytes with accesses of 16, 4, 2 or 1 bytes: the widest for
/// which both addresses have the same offset from alignment.
__device__ inline void copy_bytes(char* out, const char* in, size_t bytes, size_t me, size_t step) {
  const size_t apart = reinterpret_cast<size_t>(out) ^ reinterpret_cast<size_t>(in);
  if (apart % sizeof(uint4) == 0) return copy_as<uint4>(out, in, bytes, me, step);
  if (apart % sizeof(uint32_t) == 0) return copy_as<uint32_t>(out, in, bytes, me, step);
  if (apart % sizeof(uint16_t) == 0) return copy_as<uint16_t>(out, in, bytes, me, step);
  copy_elements(out, in, bytes, me, step);
}

#endif

}  // namespace hirgen
