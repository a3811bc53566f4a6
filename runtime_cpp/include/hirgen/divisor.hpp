// Division in fp32: a fast quotient, and many quotients by one divisor.
#pragma once

#include <cmath>

#include "hirgen/host_device.hpp"

namespace hirgen {

/// Returns a / b with an error of at most two units in the last place, if |b| is from 2^-126 to
/// 2^126. For larger finite |b| and finite a, a GPU returns 0.
HG_HOST_DEVICE inline float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdividef(a, b);
#else
  return a / b;
#endif
}

/// A divisor of many numbers, with its reciprocal, so that most quotients need no division. Each
/// quotient has the same bits as x / value, or rounds to the same 8 bits.
struct Divisor {
  float value;
  float reciprocal;  // NaN if |value| is not from 2^-32 to 2^32; then each quotient is divided

  Divisor() = default;
  HG_HOST_DEVICE explicit Divisor(float divisor) : value(divisor), reciprocal(1.0F / divisor) {
    const float size = fabsf(value);
    if (!(size >= 0x1p-32F && size <= 0x1p32F)) reciprocal = NAN;
  }

  /// Returns x / value. Computes a first quotient q by the reciprocal, and corrects q by its
  /// remainder. The reciprocal is correctly rounded, and the remainder is exact unless q, value or
  /// x is close to the subnormal numbers. If the remainder is exact, the corrected quotient is
  /// correctly rounded, too (Brisebarre, Muller and Raina, "Accelerating correctly rounded
  /// floating-point division when the divisor is known in advance"). The function tests only the
  /// size of q, because kernels at memory bandwidth have few instructions to spare. If q is too
  /// small or too large, and x and q are not both 0, the function divides.
  HG_HOST_DEVICE float divides(float x) const {
    const float q = x * reciprocal, size = fabsf(q);
    if (size >= 0x1p-64F && size < 0x1p64F) return corrected(q, x);
    return x == 0.0F && size == 0.0F ? q : x / value;
  }

  /// Returns q, which is about x / value, without the error of its remainder. A zero keeps its
  /// sign if `value` is positive.
  HG_HOST_DEVICE float corrected(float q, float x) const {
    return fmaf(fmaf(q, value, -x), -reciprocal, q);
  }
};

/// Replaces each x[j] by a number that rounds to the same 8 bits as x[j] / divisors[j]; a single
/// divisor divides all. `positive` says whether all divisors are. Corrects each first quotient as
/// Divisor::divides() does. Where it is below 2^-64, the result may have an error, but rounds to a
/// zero with the same sign. So only large quotients, NaN and negative divisors need a test. If any
/// number has one, all are divided.
template <int W, int N>
HG_HOST_DEVICE inline void divide_for_bytes(float (&x)[W], const Divisor (&divisors)[N],
                                            bool positive) {
  static_assert(N == 1 || N == W);
  float quotients[W];
  bool divides = !positive;
  HG_UNROLL
  for (int j = 0; j < W; ++j) {
    const Divisor& by = divisors[N == 1 ? 0 : j];
    const float q = x[j] * by.reciprocal;
    divides |= !(fabsf(q) < 0x1p64F);
    quotients[j] = by.corrected(q, x[j]);
  }
  if (divides) {
    HG_UNROLL
    for (int j = 0; j < W; ++j) x[j] /= divisors[N == 1 ? 0 : j].value;
  } else {
    HG_UNROLL
    for (int j = 0; j < W; ++j) x[j] = quotients[j];
  }
}

}  // namespace hirgen
