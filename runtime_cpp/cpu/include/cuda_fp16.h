// The CPU device: IEEE half precision, 2 bytes, converted with round to nearest even.
#pragma once

#include <stdint.h>
#include <string.h>

/// IEEE 754 binary16.
struct __half {
  uint16_t __x;

  __half() = default;
  __half(float value) : __x(rounded(value)) {}
  operator float() const {
    uint32_t sign = static_cast<uint32_t>(__x & 0x8000u) << 16;
    uint32_t magnitude = __x & 0x7FFFu;
    uint32_t bits;
    float result;
    if (magnitude >= 0x7C00u) {  // infinity, NaN
      bits = 0x7F800000u | (magnitude & 0x3FFu) << 13;
    } else if (magnitude >= 0x0400u) {  // normal: only the exponent bias differs
      bits = (magnitude << 13) + (112u << 23);
    } else {  // subnormal or zero: magnitude * 2^-24 is exact in a float
      float scaled = static_cast<float>(magnitude) * 5.9604644775390625e-8F;
      memcpy(&bits, &scaled, sizeof bits);
    }
    bits |= sign;
    memcpy(&result, &bits, sizeof result);
    return result;
  }

 private:
  /// Rounds to the nearest half, ties to even. Overflow gives infinity, and NaN the canonical quiet
  /// NaN 0x7FFF.
  static uint16_t rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    bits &= 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return 0x7FFF;
    if (bits >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // from 65520 on
    if (bits >= 0x38800000u) {  // normal: drops 13 bits; the bias differs by 112
      bits += 0xFFFu + ((bits >> 13) & 1u);
      return static_cast<uint16_t>(sign | ((bits - (112u << 23)) >> 13));
    }
    float magnitude;  // subnormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude += 0.5F;
    memcpy(&bits, &magnitude, sizeof bits);
    return static_cast<uint16_t>(sign | (bits - 0x3F000000u));
  }
};
typedef __half half;

inline float __half2float(__half value) { return value; }
inline __half __float2half(float value) { return value; }
