// Numbers from which the kernels of check/bounds.hpp compute bounds.
#pragma once

#include <cmath>
#include <cstdint>

#include "check/bounds.hpp"
#include "hirgen/host_device.hpp"
#include "hirgen/numerics.hpp"

namespace hirgen::reference {

/// The position of kernels that compute bounds, for messages.
constexpr const char* kBounds = "bound the reference";

/// *number = max(*number, to). Neither is negative, so their bits compare as integers do. A loop of
/// the CPU device runs in one thread and needs no atomics.
HG_HOST_DEVICE inline void raise(float* number, double to) {
  const auto x = static_cast<float>(to);
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<int*>(number), __float_as_int(x));
#else
  if (x > *number) *number = x;
#endif
}

HG_HOST_DEVICE inline double bound_of(const Noisy& in, int64_t i) {
  return in.bound == nullptr ? 0 : static_cast<double>(in.bound[i]);
}

/// Returns the part of a bound of an operand that is due to leaps.
HG_HOST_DEVICE inline double leap_of(const Noisy& in, int64_t i) {
  return in.leap == nullptr ? 0 : static_cast<double>(in.leap[i]);
}

/// Returns the part of a bound that is not due to leaps.
HG_HOST_DEVICE inline double rest_of(double bound, double leap) {
  return leap < bound ? bound - leap : 0;
}

HG_HOST_DEVICE inline double larger_of(double a, double b) { return a < b ? b : a; }
HG_HOST_DEVICE inline double smaller_of(double a, double b) { return b < a ? b : a; }

/// Returns the smallest normal number of a type; for integer types, 2^-126.
HG_HOST_DEVICE inline double least_of(DType type) {
  double least = 0x1p-126;
#define HG_ROW(enumerator, name, element, value, bytes, digits, stored, cuda, cudnn, ptx, \
               exponent)                                                                  \
  if (type == DType::enumerator) least = ldexp(1.0, exponent);
  HG_FLOAT_TYPES(HG_ROW)
#undef HG_ROW
  return least;
}

/// Returns whether a type has 8 bits.
HG_HOST_DEVICE inline bool is_byte(DType type) {
  bool byte = false;
#define HG_ROW(enumerator, name, element, ...) \
  byte = byte || (type == DType::enumerator && sizeof(element) == 1);
  HG_FLOAT_TYPES(HG_ROW)
#undef HG_ROW
  return byte;
}

/// Returns `bound` combined with the error of rounding `raw` to a type, to which its part `leap` is
/// added in full. The result is infinite if the rounded number may overflow or `bound` is NaN, and
/// is `bound` itself if `raw` is not finite.
HG_HOST_DEVICE inline float rounded(DType type, double raw, double bound, double leap) {
  if (bound != bound) return INFINITY;
  const double size = fabs(raw);
  if (!(size < INFINITY)) return static_cast<float>(bound);
  const double own = kSpread * (epsilon_of(type) + 2 * kEpsilon) * larger_of(size, least_of(type));
  const double e = hypot(rest_of(bound, leap), own) + leap;
  // Where the rounded number overflows, a fused kernel may pass the finite fp32 number on to its
  // next operation.
  return round_to(type, static_cast<float>(size + e)) < INFINITY ? static_cast<float>(e) : INFINITY;
}

/// Returns the bound of a result that is an operand's element or a small integer: without an error
/// of rounding if the type can represent `raw`.
HG_HOST_DEVICE inline float kept(DType type, float raw, double bound, double leap) {
  return round_to(type, raw) == raw && bound == bound ? static_cast<float>(bound)
                                                      : rounded(type, raw, bound, leap);
}

/// Returns the leap to store with a bound; 0 if the bound is infinite or NaN.
HG_HOST_DEVICE inline float stored_leap(double bound, double leap) {
  return bound < INFINITY ? static_cast<float>(leap) : 0.0F;
}

/// Returns whether x is an integer whose neighboring integers, x - 1 and x + 1, fp32 represents.
HG_HOST_DEVICE inline bool whole(double x) { return fabs(x) < 0x1p24 && trunc(x) == x; }

/// Sets `moved` to four values that an element x with bound e may have. The first two are x + e and
/// x - e. The third is 0 if |x| <= e, else x. The fourth is 1 if x is not finite and e is infinite,
/// else x. If x is NaN and e infinite, the first three are computed from 0 instead of x.
HG_HOST_DEVICE inline void ends(double x, double e, float (&moved)[4]) {
  moved[3] = e == INFINITY && x - x != 0 ? 1.0F : static_cast<float>(x);
  if (x != x && e == INFINITY) x = 0;
  moved[0] = static_cast<float>(x + e);
  moved[1] = static_cast<float>(x - e);
  moved[2] = fabs(x) <= e ? 0.0F : static_cast<float>(x);
}

/// Returns a pseudo-random number in [-1/2, 1/2) for element i.
HG_HOST_DEVICE inline double random_at(uint64_t seed, int64_t i) {
  uint64_t z = (static_cast<uint64_t>(i) + seed * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 29)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 32)) >> 40) * 0x1p-24 - 0.5;
}

}  // namespace hirgen::reference
