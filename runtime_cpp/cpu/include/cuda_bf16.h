// The CPU device: bfloat16, 2 bytes, converted with round to nearest even.
#pragma once

#include <stdint.h>
#include <string.h>

/// The high 16 bits of a float.
struct __nv_bfloat16 {
  uint16_t __x;

  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : __x(rounded(value)) {}
  operator float() const {
    uint32_t bits = static_cast<uint32_t>(__x) << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
  }

 private:
  /// Rounds to the nearest bfloat16, ties to even. NaN becomes the canonical quiet NaN 0x7FFF.
  static uint16_t rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
    bits += 0x7FFFu + ((bits >> 16) & 1u);
    return static_cast<uint16_t>(bits >> 16);
  }
};
typedef __nv_bfloat16 nv_bfloat16;

inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
