// The arithmetic of one element: conversions and functions, in fp32. Kernels and the reference both
// use these functions. So on one device each function gives the same bits in both, except turn(),
// whose results depend on all numbers of a call. In a fused kernel, the compiler may contract a
// product and a sum to an FMA.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hirgen/divisor.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

template <typename T>
HG_HOST_DEVICE inline float widen(T x) {
  return static_cast<float>(x);
}

/// Sets `out` to x, rounded to nearest even. 8-bit types saturate at their largest number. For an
/// integer type, narrow() drops the fraction, clamps x to the type's range, and replaces NaN by 0.
template <typename T>
HG_HOST_DEVICE inline void narrow(float x, T& out) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kMost = static_cast<T>((uint64_t{1} << (8 * sizeof(T) - 1)) - 1);
    constexpr T kLeast = -kMost - 1;
    constexpr auto kLimit = -static_cast<float>(kLeast);
    if (!(x < kLimit)) {
      out = x >= kLimit ? kMost : T{0};
    } else {
      out = x < -kLimit ? kLeast : static_cast<T>(x);
    }
  } else {
    out = static_cast<T>(x);
  }
}

/// W adjacent elements, aligned to their total size, but at most to 16 bytes.
template <typename T, int W>
struct alignas(sizeof(T) * W < 16 ? sizeof(T) * W : 16) Pack {
  T value[W];
};

/// On the CPU device, throws a fault if the address is not a multiple of `bytes`, because an access
/// of this size would fault on a GPU. Does nothing on a GPU.
HG_HOST_DEVICE inline void aligned_access([[maybe_unused]] const void* address,
                                          [[maybe_unused]] size_t bytes) {
#ifdef HIRGEN_CPU_DEVICE
  hirgen_cpu_access(address, bytes);
#endif
}

/// Returns the W elements at an address, which has the alignment of Pack<T, W>. If W > 1, the CPU
/// device checks the alignment.
template <int W, typename T>
HG_HOST_DEVICE inline auto& pack_at(T* data) {
  using Plain = Pack<std::remove_const_t<T>, W>;
  using Access = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
  if constexpr (W > 1) aligned_access(data, alignof(Access));
  return *reinterpret_cast<Access*>(data);
}

/// Sets x to the elements of a pack, converted to fp32.
template <typename T, int W>
HG_HOST_DEVICE inline void widen_all(const Pack<T, W>& pack, float (&x)[W]) {
#ifdef __CUDA_ARCH__
  constexpr bool kPairs = std::is_same_v<T, __nv_bfloat16> && W % 2 == 0;
#else
  constexpr bool kPairs = false;
#endif
  if constexpr (kPairs) {
    // A bf16 is the upper half of a float. In a loop over elements, the compiler would add
    // instructions that split each pair first.
    uint32_t pairs[W / 2];
    memcpy(pairs, &pack, sizeof(pairs));
    HG_UNROLL
    for (int j = 0; j < W; ++j)
      x[j] = __uint_as_float(j % 2 == 0 ? pairs[j / 2] << 16 : pairs[j / 2] & 0xFFFF0000U);
  } else {
    HG_UNROLL
    for (int j = 0; j < W; ++j) x[j] = widen(pack.value[j]);
  }
}

/// Rounds W numbers to T. A GPU rounds two numbers to 8 bits in one instruction.
template <typename T, int W>
HG_HOST_DEVICE inline void narrow_all(const float (&x)[W], Pack<T, W>& pack) {
  int first = 0;
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>) {
    constexpr auto kFormat = std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
    HG_UNROLL
    for (; first + 1 < W; first += 2) {
      const float2 two{x[first], x[first + 1]};
      const auto pair = __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, kFormat);
      memcpy(&pack.value[first], &pair, sizeof(pair));
    }
  }
#endif
  HG_UNROLL
  for (int j = first; j < W; ++j) narrow(x[j], pack.value[j]);
}

/// Writes a pack to an address that is aligned like the pack. A GPU writes a pack of 16 bytes in
/// one explicit access: a loop over elements may compile to one access for each element, which
/// takes several times as long over links between GPUs.
template <typename T, int W>
HG_HOST_DEVICE inline void store_pack(T* data, const Pack<T, W>& pack) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(pack) == sizeof(uint4)) {
    uint4 bits;
    memcpy(&bits, &pack, sizeof(bits));
    __stwb(reinterpret_cast<uint4*>(data), bits);
    return;
  }
#endif
  pack_at<W>(data) = pack;
}

/// Sets x to W elements of type T, from element `at` on. Their address must have the alignment of
/// Pack<T, W>.
template <typename T, int W>
HG_HOST_DEVICE inline void load_as(const void* data, int64_t at, float (&x)[W]) {
  const auto pack = pack_at<W>(static_cast<const T*>(data) + at);
  widen_all(pack, x);
}

/// Stores x, rounded to T, in W elements from element `at` on. The same alignment as for load_as()
/// is required.
template <typename T, int W>
HG_HOST_DEVICE inline void store_as(void* data, int64_t at, const float (&x)[W]) {
  Pack<T, W> pack;
  narrow_all(x, pack);
  store_pack(static_cast<T*>(data) + at, pack);
}

/// load_as() for an element type that is known only at run time.
template <int W>
HG_HOST_DEVICE inline void load(const void* data, DType type, int64_t at, float (&x)[W]) {
  switch (type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return load_as<element>(data, at, x);
    HG_TYPES(HG_CASE)
#undef HG_CASE
  }
  __builtin_unreachable();  // the switch has a case for every type
}

/// Returns element `at`, converted to fp32.
HG_HOST_DEVICE inline float load(const void* data, DType type, int64_t at) {
  float x[1];
  load(data, type, at, x);
  return x[0];
}

/// store_as() for an element type that is known only at run time.
template <int W>
HG_HOST_DEVICE inline void store(void* data, DType type, int64_t at, const float (&x)[W]) {
  switch (type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return store_as<element>(data, at, x);
    HG_TYPES(HG_CASE)
#undef HG_CASE
  }
  __builtin_unreachable();  // the switch has a case for every type
}

/// Returns x rounded to T, as a float.
template <typename T>
HG_HOST_DEVICE inline float round_as(float x) {
  T element;
  narrow(x, element);
  return widen(element);
}

/// Returns x rounded to `type`, as a float: round_as() for a type that is known only at run time.
HG_HOST_DEVICE inline float round_to(DType type, float x) {
  switch (type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return round_as<element>(x);
    HG_TYPES(HG_CASE)
#undef HG_CASE
  }
  __builtin_unreachable();  // the switch has a case for every type
}

/// Returns x minus the nearest multiple of 2 pi, for |x| below 400,000.
HG_HOST_DEVICE inline float within_turn(float x) {
  const float turns = rintf(x * 0.15915494F);
  // 2 pi is the sum of three constants. The first, 6.28125, has only eight significant bits, so its
  // product with `turns` is exact.
  const float rest = fmaf(turns, -0.00193530717F, fmaf(turns, -6.28125F, x));
  return fmaf(turns, -1.0253131e-11F, rest);
}

/// Sets each x[j] to sin(x[j]) or cos(x[j]), on a GPU with an absolute error below 5e-7. Between
/// -pi and pi the GPU's fast functions are accurate enough, and take a fifth of the time. If any
/// |x| is 400,000 or more, all x use sinf or cosf: with a branch for each element, the compiler
/// could not issue the reads of a row together.
template <bool Sine, int W>
HG_HOST_DEVICE inline void turn(float (&x)[W]) {
#ifdef __CUDA_ARCH__
  float largest = 0.0F;
  for (const float v : x) largest = fmaxf(largest, fabsf(v));
  if (largest < 400000.0F) {
    for (float& v : x) v = Sine ? __sinf(within_turn(v)) : __cosf(within_turn(v));
    return;
  }
#endif
  for (float& v : x) v = Sine ? sinf(v) : cosf(v);
}

/// Returns exp(-x^2 / 2), with a relative error below 3e-7 + 6e-8 x^2. A GPU returns 0 if the
/// result is subnormal.
HG_HOST_DEVICE inline float bell(float x) {
  const float exponent = x * x * -0.72134752044448170F;
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(exponent));
  return y;
#else
  return exp2f(exponent);
#endif
}

/// Returns the normal distribution function at x, given bell(x). The absolute error is below 3e-7,
/// five ulps of a value just below 1. The smaller tail is bell(x) times a polynomial in 1 / (1 + p
/// |x|), with p = 0.23164190 (Abramowitz and Stegun, 7.1.26). This takes half as many instructions
/// as erff.
HG_HOST_DEVICE inline float normal_below(float x, float bell) {
  const float t = quotient(1.0F, 1.0F + 0.23164190F * fabsf(x));
  float tail = 0.53070271F;
  tail = tail * t - 0.72657601F;
  tail = tail * t + 0.71070687F;
  tail = tail * t - 0.14224837F;
  tail = tail * t + 0.12741480F;
  tail *= t * bell;
  return x > 0.0F ? 1.0F - tail : tail;
}

/// Returns the derivative of gelu: the normal distribution function plus x times the normal
/// density.
HG_HOST_DEVICE inline float gelu_grad(float x) {
  const float density = bell(x);
  return normal_below(x, density) + x * 0.39894228040143268F * density;
}

/// Returns the derivative of silu.
HG_HOST_DEVICE inline float silu_grad(float x) {
  const float s = quotient(1.0F, 1.0F + expf(-x));
  return s * (1.0F + x * (1.0F - s));
}

/// Returns the smallest normal power of two that is not below a positive x (infinity above 2^127);
/// x itself if it is 0 or NaN.
HG_HOST_DEVICE inline float ceil_pow2(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  if (x != x || bits == 0) return x;
  bits = (bits + 0x7FFFFFU) & 0xFF800000U;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Returns (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2: gelu_tanh(x) divided by x.
HG_HOST_DEVICE inline float gelu_tanh_share(float x) {
  return quotient(1.0F, 1.0F + expf(-x * (1.5957691216F + 0.0713548163F * x * x)));
}

/// Returns the derivative of gelu_tanh.
HG_HOST_DEVICE inline float gelu_tanh_grad(float x) {
  const float s = gelu_tanh_share(x);
  return s + x * s * (1.0F - s) * (1.5957691216F + 0.2140644488F * x * x);
}

/// Returns the larger number; NaN if either is NaN (fmaxf would return the other number).
HG_HOST_DEVICE inline float larger(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));  // one instruction
  return a;
#else
  return a > b || a != a ? a : b;
#endif
}
/// Returns the smaller number; NaN if either is NaN.
HG_HOST_DEVICE inline float smaller(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("min.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
#else
  return a < b || a != a ? a : b;
#endif
}

/// x[j] = fn(x[j]). gelu is x/2 (1 + erf(x / sqrt 2)), by normal_below(); gelu_tanh is the tanh
/// form. NaN stays NaN.
template <int W>
HG_HOST_DEVICE inline void apply(UnaryFn fn, float (&x)[W]) {
  const float by = fn.by;
  switch (fn.kind) {
    case UnaryFn::kCopy:
      return;
#define HG_CASE(enumerator, name, ...) \
  case UnaryFn::enumerator:            \
    __VA_ARGS__;                       \
    return;
      HG_UNARY_FUNCTIONS(HG_CASE)
      HG_CONSTANT_FUNCTIONS(HG_CASE)
#undef HG_CASE
  }
}

/// x[j] = fn(x[j], y[j]).
template <int W>
HG_HOST_DEVICE inline void apply(BinaryFn fn, float (&x)[W], const float (&y)[W]) {
  switch (fn) {
#define HG_CASE(enumerator, name, ...) \
  case BinaryFn::enumerator:           \
    for (int j = 0; j < W; ++j) {      \
      const float a = x[j], b = y[j];  \
      x[j] = __VA_ARGS__;              \
    }                                  \
    return;
    HG_BINARY_FUNCTIONS(HG_CASE)
#undef HG_CASE
  }
}

/// sum[j] = fn(sum[j], x[j]): one step of a reduction.
template <int W>
HG_HOST_DEVICE inline void apply(ReduceFn fn, float (&sum)[W], const float (&x)[W]) {
  switch (fn) {
#define HG_CASE(enumerator, name, function, identity) \
  case ReduceFn::enumerator:                          \
    return apply(BinaryFn::function, sum, x);
    HG_FOLDS(HG_CASE)
#undef HG_CASE
  }
}

/// Returns the result of a reduction of no elements.
HG_HOST_DEVICE inline float identity_of(ReduceFn fn) {
  switch (fn) {
#define HG_CASE(enumerator, name, function, identity) \
  case ReduceFn::enumerator:                          \
    return identity;
    HG_FOLDS(HG_CASE)
#undef HG_CASE
  }
  return 0.0F;
}

}  // namespace hirgen
