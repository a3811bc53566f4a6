#include "check/bounds.hpp"
#include "hirgen/error.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::reference {
namespace {

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

HG_HOST_DEVICE inline double larger_of(double a, double b) { return a < b ? b : a; }

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

/// Returns `bound` combined with the error of rounding `raw` to a type. The result is infinite if
/// the rounded number may overflow or `bound` is NaN, and is `bound` itself if `raw` is not finite.
HG_HOST_DEVICE inline float rounded(DType type, double raw, double bound) {
  if (bound != bound) return INFINITY;
  const double size = fabs(raw);
  if (!(size < INFINITY)) return static_cast<float>(bound);
  const double e =
      hypot(bound, kSpread * (epsilon_of(type) + 2 * kEpsilon) * larger_of(size, least_of(type)));
  // Where the rounded number overflows, a fused kernel may pass the finite fp32 number on to its
  // next operation.
  return round_to(type, static_cast<float>(size + e)) < INFINITY ? static_cast<float>(e) : INFINITY;
}

/// Returns the bound of a result that is an operand's element or a small integer: without an error
/// of rounding if the type can represent `raw`.
HG_HOST_DEVICE inline float kept(DType type, float raw, double bound) {
  return round_to(type, raw) == raw && bound == bound ? static_cast<float>(bound)
                                                      : rounded(type, raw, bound);
}

/// Sets moved[0..3] to values that an element x with bound e may have: x + e; x - e; 0 if it is
/// within the bound, else x; and 1 if x is not finite and e is infinite, else x. If x is NaN and e
/// infinite, the first three are computed from 0 instead of x.
HG_HOST_DEVICE inline void ends(double x, double e, float (&moved)[4]) {
  moved[3] = e == INFINITY && x - x != 0 ? 1.0F : static_cast<float>(x);
  if (x != x && e == INFINITY) x = 0;
  moved[0] = static_cast<float>(x + e);
  moved[1] = static_cast<float>(x - e);
  moved[2] = fabs(x) <= e ? 0.0F : static_cast<float>(x);
}

/// Returns whether a function is evaluated with at most one rounding: each result is the operand,
/// up to sign, a sum, a product, a constant or an integer.
HG_HOST_DEVICE inline bool is_plain(UnaryFn fn) {
  switch (fn.kind) {
    case UnaryFn::kCopy:
    case UnaryFn::kAbs:
    case UnaryFn::kClampMax:
    case UnaryFn::kClampMin:
    case UnaryFn::kNeg:
    case UnaryFn::kRelu:
    case UnaryFn::kReluGrad:
    case UnaryFn::kRound:
    case UnaryFn::kScale:
    case UnaryFn::kShift:
    case UnaryFn::kSign:
      return true;
    default:
      return false;
  }
}

/// Returns whether a function has steps, so that a small error of the operand may change the result
/// by a whole step.
HG_HOST_DEVICE inline bool decides(UnaryFn fn) {
  return fn.kind == UnaryFn::kReluGrad || fn.kind == UnaryFn::kRound ||
         fn.kind == UnaryFn::kCeilPow2 || fn.kind == UnaryFn::kSign;
}

/// Returns whether a function is periodic. An error of the operand beyond kMostTurned may give any
/// result from -1 to 1.
HG_HOST_DEVICE inline bool turns(UnaryFn fn) {
  return fn.kind == UnaryFn::kSin || fn.kind == UnaryFn::kCos;
}
constexpr double kMostTurned = 1.5;

struct UnaryBound {
  UnaryFn fn;
  float* bound;
  Noisy in;
  DType dtype;
  float* jumps;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double x = in.data[i];
    double e = bound_of(in, i);
    if (!is_plain(fn) && x - x == 0) e += kSpread * kEpsilon * fabs(x);
    float raw[1] = {in.data[i]}, moved[4];
    ends(x, e, moved);
    apply(fn, raw);
    apply(fn, moved);
    if (is_integer(dtype)) {  // a cast, which drops the fraction
      raw[0] = round_to(dtype, raw[0]);
      for (float& y : moved) y = round_to(dtype, y);
    }
    double widest = 0;
    for (const float y : moved) widest = larger_of(widest, apart(y, raw[0]));
    if (turns(fn) && e > kMostTurned) widest = larger_of(widest, 2.0);
    if (is_integer(dtype) && widest > 0 && e == INFINITY) widest = INFINITY;
    if ((decides(fn) || is_integer(dtype)) && widest > 0) raise(jumps, 1);
    // A copy to fp32 does not round. A copy to a shorter type may round an element that has an
    // error, even if the type can represent raw[0].
    const bool copies = fn.kind == UnaryFn::kCopy && (dtype == DType::kFp32 || widest == 0);
    bound[i] = chooses(fn) || copies ? kept(dtype, raw[0], widest) : rounded(dtype, raw[0], widest);
  }
};

HG_HOST_DEVICE inline float value_of(BinaryFn fn, float a, float b) {
  float x[1] = {a};
  const float y[1] = {b};
  apply(fn, x, y);
  return x[0];
}

/// Returns the error of fn(a, b) if a and b have the bounds ea and eb. Sets `of_b` to the error due
/// to b alone, or to 0 if both operands are the `same` tensor.
HG_HOST_DEVICE inline double off(BinaryFn fn, float a, double ea, float b, double eb, bool same,
                                 double* of_b) {
  float as[4], bs[4];
  ends(a, ea, as);
  ends(b, eb, bs);
  const float raw = value_of(fn, a, b);
  double first = 0;
  *of_b = 0;
  for (int w = 0; w < 4; ++w) {
    first = larger_of(first, apart(value_of(fn, as[w], same || w == 3 ? bs[w] : b), raw));
    if (!same) *of_b = larger_of(*of_b, apart(value_of(fn, a, bs[w]), raw));
  }
  return hypot(first, *of_b);
}

struct BinaryBound {
  BinaryFn fn;
  float* bound;
  Noisy a, b;
  Strided a_view, b_view;
  bool same;  ///< both operands are one tensor
  DType dtype;
  float* jumps;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t at = offset_of(a_view, i), bt = offset_of(b_view, i);
    const float x = a.data[at], y = b.data[bt];
    const double ex = bound_of(a, at), ey = bound_of(b, bt);
    double of_b = 0, widest = 0;
    if (fn == BinaryFn::kEq) {  // eq changes where ge or gt changes
      widest = larger_of(off(BinaryFn::kGe, x, ex, y, ey, same, &of_b),
                         off(BinaryFn::kGt, x, ex, y, ey, same, &of_b));
    } else {
      widest = off(fn, x, ex, y, ey, same, &of_b);
    }
    const bool compares = fn == BinaryFn::kGe || fn == BinaryFn::kGt || fn == BinaryFn::kEq;
    const bool masks = fn == BinaryFn::kKeep || fn == BinaryFn::kDrop || fn == BinaryFn::kMasked;
    if ((compares && widest > 0) || (masks && of_b > 0)) raise(jumps, 1);
    const float raw = value_of(fn, x, y);
    bound[i] = chooses(fn) ? kept(dtype, raw, widest) : rounded(dtype, raw, widest);
  }
};

/// Returns a pseudo-random number in [-1/2, 1/2) for element i.
HG_HOST_DEVICE inline double random_at(uint64_t seed, int64_t i) {
  uint64_t z = (static_cast<uint64_t>(i) + seed * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 29)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 32)) >> 40) * 0x1p-24 - 0.5;
}

/// Returns the bound of a sum before rounding, from the sum, the sum of its squared terms, the sum
/// of their squared bounds, and the relative errors of Products.
HG_HOST_DEVICE inline double bound_of_sum(double value, double squares, double noise, double common,
                                          double partial, double sum) {
  return hypot(hypot(sqrt(noise), common * value),
               hypot(partial, sum) * hypot(sqrt(squares), value));
}

/// Returns a random error of the ranks' partial sums for element i of a second evaluation.
HG_HOST_DEVICE inline float elsewhere(double value, double squares, double partial, int64_t i) {
  const double moved = partial * hypot(sqrt(squares), value) * random_at(7, i) / 2;
  return moved - moved == 0 ? static_cast<float>(moved) : 0.0F;
}

struct ReduceBound {
  ReduceFn fn;
  float *bound, *other;
  Noisy in;
  int64_t count, inner;
  double common, partial;
  DType dtype;
  bool ranks = false;  ///< several ranks may share the reduction; a max or min may drop NaN

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i / inner * count * inner + i % inner;
    float folds[7];  // of the terms as is, at their four ends(), away from 0 and towards 0
    for (float& fold : folds) fold = identity_of(fn);
    double squares = 0, noise = 0;
    bool unsure = false;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = first + r * inner;
      const double x = in.data[at], e = bound_of(in, at), away = x < 0 ? -e : e;
      float moved[4];
      ends(x, e, moved);
      const float terms[7] = {in.data[at],
                              moved[0],
                              moved[1],
                              moved[2],
                              moved[3],
                              static_cast<float>(x + away),
                              static_cast<float>(x - away)};
      apply(fn, folds, terms);
      squares += x * x;
      noise += e * e;
      unsure = unsure || e == INFINITY;
    }
    const double raw = folds[0];
    double widest = 0;
    if (fn != ReduceFn::kSum) {
      for (const float fold : folds) widest = larger_of(widest, apart(fold, raw));
      if (ranks && fn != ReduceFn::kProd && raw != raw) widest = INFINITY;
    } else if (raw - raw == 0) {
      const double sum = kSpread * kChopped * sqrt(static_cast<double>(count)) * kEpsilon;
      widest = bound_of_sum(raw, squares, noise, common, partial, sum);
      other[i] += elsewhere(raw, squares, partial, i);
    } else if (unsure) {
      widest = INFINITY;
    }
    bound[i] = chooses(fn) ? kept(dtype, folds[0], widest) : rounded(dtype, raw, widest);
  }
};

struct ProductBound {
  Products p;
  float *noise, *other;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double raw = other[i], value = p.value[i], squares = p.squares[i];
    double widest = p.unsure ? INFINITY : 0;
    if (raw - raw == 0) {
      widest = bound_of_sum(value, squares, noise[i], p.common, p.partial, p.sum);
      other[i] += elsewhere(value, squares, p.partial, i);
    }
    noise[i] = rounded(dtype, raw, widest);
  }
};

struct RoundBound {
  float* bound;
  const float* raw;
  DType dtype;
  HG_HOST_DEVICE void operator()(int64_t i) const { bound[i] = rounded(dtype, raw[i], bound[i]); }
};

struct AddSquares {
  float* out;
  const float *a, *b;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    out[i] = (a == nullptr ? 0 : a[i] * a[i]) + (b == nullptr ? 0 : b[i] * b[i]);
  }
};

struct AddTo {
  float* out;
  const float* in;
  HG_HOST_DEVICE void operator()(int64_t i) const { out[i] += in[i]; }
};

struct Shake {
  float* out;
  Noisy in;
  double relative;
  uint64_t seed;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double by = hypot(bound_of(in, i), relative * in.data[i]);
    out[i] = static_cast<float>(in.data[i] + (random_at(seed, i) < 0 ? -by : by));
  }
};

struct WidenBound {
  float* bound;
  const float *a, *b;
  bool unsure;
  double* sum;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double distance = apart(a[i], b[i]);
    bound[i] = static_cast<float>(larger_of(bound[i], distance));
    if (unsure && b[i] - b[i] != 0) bound[i] = INFINITY;
#ifdef __CUDA_ARCH__
    atomicAdd(sum, distance * distance);
#else
    *sum += distance * distance;
#endif
  }
};

struct AtLeast {
  float* bound;
  double least;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    bound[i] = static_cast<float>(larger_of(bound[i], least));
  }
};

struct ScaleBound {
  float* bound;
  double by;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    if (bound[i] < INFINITY) bound[i] = static_cast<float>(bound[i] * by);
  }
};

struct Overflow {
  float* bound;
  const float *value, *other;
  DType dtype;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const float x = value[i];
    if (fabsf(x) == INFINITY && round_to(dtype, 0.9F * other[i]) == x) bound[i] = 0;
  }
};

struct LargestShare {
  float* largest;
  Noisy in;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double size = fabs(in.data[i]), e = bound_of(in, i);
    if (size > 0 && size < INFINITY) raise(largest, e > 0 ? size / e : INFINITY);
  }
};

struct AnyInfinite {
  float* largest;
  const float* bound;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    if (bound[i] == INFINITY) raise(largest, 1);
  }
};

struct LargestDistance {
  float* largest;
  const float *a, *b, *bound;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double distance = apart(a[i], b[i]);
    if (bound[i] > 0 && distance < INFINITY) raise(largest, distance / bound[i]);
  }
};

}  // namespace

void unary_bound(UnaryFn fn, float* bound, Noisy in, int64_t n, DType dtype, float* jumps,
                 cudaStream_t stream) {
  parallel_for(n, stream, kBounds, UnaryBound{fn, bound, in, dtype, jumps});
}

void binary_bound(BinaryFn fn, float* bound, Noisy a, const Strided& a_view, Noisy b,
                  const Strided& b_view, bool same, DType dtype, float* jumps,
                  cudaStream_t stream) {
  parallel_for(elements_of(a_view), stream, kBounds,
               BinaryBound{fn, bound, a, b, a_view, b_view, same, dtype, jumps});
}

void reduce_bound(ReduceFn fn, float* bound, float* other, Noisy in, int64_t outer, int64_t count,
                  int64_t inner, double common, double partial, DType dtype, bool ranks,
                  cudaStream_t stream) {
  parallel_for(outer * inner, stream, kBounds,
               ReduceBound{fn, bound, other, in, count, inner, common, partial, dtype, ranks});
}

void product_bound(const Products& products, float* noise, float* other, int64_t n, DType dtype,
                   cudaStream_t stream) {
  parallel_for(n, stream, kBounds, ProductBound{products, noise, other, dtype});
}

void round_bound(float* bound, const float* raw, int64_t n, DType dtype, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, RoundBound{bound, raw, dtype});
}

void add_squares(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddSquares{out, a, b});
}

void add_to(float* out, const float* in, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddTo{out, in});
}

void shake(float* out, Noisy in, double relative, uint64_t seed, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, Shake{out, in, relative, seed});
}

void widen_bound(float* bound, const float* a, const float* b, bool unsure, int64_t n, double* sum,
                 cudaStream_t stream) {
  parallel_for(n, stream, kBounds, WidenBound{bound, a, b, unsure, sum});
}

void at_least(float* bound, double least, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AtLeast{bound, least});
}

void scale_bound(float* bound, double by, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, ScaleBound{bound, by});
}

void exact_overflow(float* bound, const float* value, const float* other, int64_t n, DType dtype,
                    cudaStream_t stream) {
  parallel_for(n, stream, kBounds, Overflow{bound, value, other, dtype});
}

void largest_share(float* largest, Noisy in, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, LargestShare{largest, in});
}

void any_infinite(float* largest, const float* bound, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AnyInfinite{largest, bound});
}

void largest_distance(float* largest, const float* a, const float* b, const float* bound, int64_t n,
                      cudaStream_t stream) {
  parallel_for(n, stream, kBounds, LargestDistance{largest, a, b, bound});
}

}  // namespace hirgen::reference
