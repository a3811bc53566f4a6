// The CPU device: 8-bit floating types as OCP defines them, converted with round to nearest even.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/// A sign bit, an exponent with the bias kBias, and a mantissa of kDigits bits. kLargest is the
/// code of the largest finite number; larger codes are infinity or NaN. Floats beyond that number,
/// infinity included, convert to kLargest with their sign.
template <int kDigits, int kBias, int kLargest>
struct __cpu_fp8 {
  uint8_t __x;

  __cpu_fp8() = default;
  explicit __cpu_fp8(float value) : __x(rounded(value)) {}
  explicit operator float() const {
    const int magnitude = __x & 0x7F;
    float result;
    if (magnitude > kLargest) {  // only the format with two mantissa bits has infinity
      result = kDigits == 2 && magnitude == kLargest + 1 ? INFINITY : NAN;
    } else if (magnitude >> kDigits == 0) {
      result = ldexpf(static_cast<float>(magnitude), 1 - kBias - kDigits);
    } else {
      const uint32_t bits = (static_cast<uint32_t>(magnitude) << kDropped) + kRebias;
      memcpy(&result, &bits, sizeof result);
    }
    return (__x & 0x80) == 0 ? result : -result;
  }

 private:
  static constexpr int kDropped = 23 - kDigits;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;

  /// Rounds to the nearest code, ties to even. Overflow gives the largest finite number, and NaN
  /// gives 0x7F.
  static uint8_t rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 24 & 0x80u;
    bits &= 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return 0x7F;
    if (bits < kRebias + (1u << 23)) {  // subnormal: rintf() rounds ties to even
      bits = static_cast<uint32_t>(rintf(ldexpf(fabsf(value), kBias - 1 + kDigits)));
    } else {
      bits = (bits - kRebias + (1u << (kDropped - 1)) - 1u + (bits >> kDropped & 1u)) >> kDropped;
    }
    return static_cast<uint8_t>(sign | (bits > kLargest ? kLargest : bits));
  }
};
typedef __cpu_fp8<3, 7, 0x7E> __nv_fp8_e4m3;
typedef __cpu_fp8<2, 15, 0x7B> __nv_fp8_e5m2;
