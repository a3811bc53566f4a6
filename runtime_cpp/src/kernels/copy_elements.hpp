// The work of one thread in a kernel that copies.
#pragma once

#include <cstddef>

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

}  // namespace hirgen
