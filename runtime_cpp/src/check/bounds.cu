// The bounds of unary and binary functions.
#include "check/bounds.hpp"
#include "check/bounds_numbers.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::reference {
namespace {

/// Returns whether each result of a function is the operand (up to sign), a sum, a product, a
/// constant or an integer. Such a function is evaluated with at most one rounding.
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

/// Returns the result of a function of keeps_integers() before rounding to fp32.
HG_HOST_DEVICE inline double unrounded(UnaryFn fn, double x) {
  if (fn.kind == UnaryFn::kRound) return rint(x);
  return fn.kind == UnaryFn::kScale ? x * fn.by : x + fn.by;
}
HG_HOST_DEVICE inline double unrounded(BinaryFn fn, double a, double b) {
  if (fn == BinaryFn::kMul) return a * b;
  return fn == BinaryFn::kAdd ? a + b : a - b;
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

/// A number next to 0, to find on which side of a pole a zero is.
constexpr float kBeside = 0x1p-126F;

/// The largest error of fp32, relative to a number, with which a copy to 8 bits may be certain.
constexpr double kSlight = 0x1p-18;

/// Limits the logarithm of a sum of exponentials together with its error: no such sum underflows or
/// overflows in fp32.
constexpr double kMostLog = 80;

struct UnaryBound {
  UnaryFn fn;
  Bounds to;
  Noisy in;
  DType dtype;
  float* jumps;

  HG_HOST_DEVICE float value_of(double x) const {
    float y[1] = {static_cast<float>(x)};
    apply(fn, y);
    return is_integer(dtype) ? round_to(dtype, y[0]) : y[0];  // a cast drops the fraction
  }

  /// Returns the largest distance from `raw` of the results of an operand x within its bound e.
  HG_HOST_DEVICE double widest(double x, double e, float raw) const {
    float moved[4];
    ends(x, e, moved);
    double widest = 0;
    for (const float y : moved) widest = larger_of(widest, apart(value_of(y), raw));
    if (turns(fn) && e > kMostTurned) widest = larger_of(widest, 2.0);
    // An epilogue of cuBLASLt adds 1 to a tanh near -1, which loses its last digits.
    if (fn.kind == UnaryFn::kGeluTanh && x - x == 0) widest += kSpread * kEpsilon * fabs(x);
    return is_integer(dtype) && widest > 0 && e == INFINITY ? INFINITY : widest;
  }

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double x = in.data[i];
    const double rough = !is_plain(fn) && x - x == 0 ? kSpread * kEpsilon * fabs(x) : 0;
    const double e = bound_of(in, i) + rough,
                 rest = rest_of(bound_of(in, i), leap_of(in, i)) + rough;
    const float raw = value_of(x);
    const double near = widest(x, rest, raw);
    double far = leap_of(in, i) > 0 ? larger_of(near, widest(x, e, raw)) : near;
    const bool decided = (decides(fn) || is_integer(dtype)) && far > 0;
    const bool pole = fabsf(raw) == INFINITY && x == 0 && e > 0 &&
                      apart(value_of(kBeside), value_of(-kBeside)) > 0;
    if (decided || pole) raise(jumps, 1);
    double leap = decided ? far : rest_of(far, near);
    if (fn.kind == UnaryFn::kLog && in.log != nullptr && fabs(raw) + in.log[i] < kMostLog) {
      far = smaller_of(far, in.log[i]);
      leap = smaller_of(leap, far);
    }
    // A copy to fp32 does not round. A copy to a shorter type may round an element that has an
    // error, even if the type can represent raw.
    const bool copies = fn.kind == UnaryFn::kCopy && (dtype == DType::kFp32 || far == 0);
    const bool exact = keeps_integers(fn) && far == 0 && whole(fn.by) && whole(unrounded(fn, x));
    // A copy to 8 bits rounds in any case. It makes most numbers with errors of fp32 certain.
    const bool same = fn.kind == UnaryFn::kCopy && is_byte(dtype) && far <= kSlight * fabs(raw) &&
                      round_to(dtype, static_cast<float>(raw - far)) ==
                          round_to(dtype, static_cast<float>(raw + far));
    to.leap[i] = same ? 0.0F : stored_leap(far, leap);
    to.bound[i] = same                             ? 0.0F
                  : chooses(fn) || copies || exact ? kept(dtype, raw, far, leap)
                                                   : rounded(dtype, raw, far, leap);
  }
};

HG_HOST_DEVICE inline float value_of(BinaryFn fn, float a, float b) {
  float x[1] = {a};
  const float y[1] = {b};
  apply(fn, x, y);
  return x[0];
}

/// The bounds of two operands, or of a result: in full, and due to the second operand.
struct Errors {
  double first, second;
};

struct BinaryBound {
  BinaryFn fn;
  Bounds to;
  Noisy a, b;
  Strided a_view, b_view;
  bool same;  ///< both operands are one tensor
  DType dtype;
  float* jumps;

  /// Returns the distances from fn(x, y) of results of operands within their bounds: with both
  /// varied at the same time if `corners` is true, else of each alone. If both operands are the
  /// `same` tensor, the distance due to the second is 0.
  HG_HOST_DEVICE Errors off(BinaryFn fn, float x, float y, Errors e, bool corners) const {
    float xs[4], ys[4];
    ends(x, e.first, xs);
    ends(y, e.second, ys);
    const float raw = value_of(fn, x, y);
    Errors found{0, 0};
    for (int w = 0; w < 4; ++w) {
      const float other = same || w == 3 ? ys[w] : y;
      found.first = larger_of(found.first, apart(value_of(fn, xs[w], other), raw));
      if (same) continue;
      found.second = larger_of(found.second, apart(value_of(fn, x, ys[w]), raw));
      if (!corners || w > 1) continue;
      for (int v = 0; v < 2; ++v) {
        found.first = larger_of(found.first, apart(value_of(fn, xs[w], ys[v]), raw));
      }
    }
    return found;
  }

  /// Returns the bound of the result before rounding, and the part of it due to y alone. The errors
  /// of the operands are independent, unless `corners` is true.
  HG_HOST_DEVICE Errors around(float x, float y, Errors e, bool corners) const {
    Errors found = off(fn == BinaryFn::kEq ? BinaryFn::kGe : fn, x, y, e, corners);
    if (fn == BinaryFn::kEq) {  // eq changes where ge or gt changes
      const Errors more = off(BinaryFn::kGt, x, y, e, corners);
      found = {larger_of(found.first, more.first), larger_of(found.second, more.second)};
    }
    return {corners ? larger_of(found.first, found.second) : hypot(found.first, found.second),
            found.second};
  }

  /// Returns the largest error of a divisor that is a sum of exponentials, by the bounds of its
  /// logarithm: a quotient moves farthest at the divisor's lower end, which is positive.
  HG_HOST_DEVICE double most_of_divisor(float y, int64_t i) const {
    if (fn != BinaryFn::kDiv || b.log == nullptr) return INFINITY;
    const double log_bound = b.log[i], divisor = y;
    return fabs(log(divisor)) + log_bound < kMostLog ? -divisor * expm1(-log_bound) : INFINITY;
  }

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t at = offset_of(a_view, i), bt = offset_of(b_view, i);
    const float x = a.data[at], y = b.data[bt];
    const double most = most_of_divisor(y, bt);
    const Errors e{bound_of(a, at), smaller_of(bound_of(b, bt), most)},
        leaps{leap_of(a, at), smaller_of(leap_of(b, bt), most)};
    const Errors rest{rest_of(e.first, leaps.first), rest_of(e.second, leaps.second)};
    Errors found = around(x, y, rest, false);
    double leap = 0;
    if (leaps.first > 0 || leaps.second > 0) {
      const Errors far = around(x, y, e, true);
      leap = rest_of(far.first, around(x, y, rest, true).first);
      found = {found.first + leap, far.second};
    }
    const double widest = found.first;
    const bool compares = fn == BinaryFn::kGe || fn == BinaryFn::kGt || fn == BinaryFn::kEq;
    const bool masks = fn == BinaryFn::kKeep || fn == BinaryFn::kDrop || fn == BinaryFn::kMasked;
    const float raw = value_of(fn, x, y);
    const bool decided = (compares && widest > 0) || (masks && found.second > 0);
    const bool pole = fabsf(raw) == INFINITY && y == 0 && e.second > 0 &&
                      apart(value_of(fn, x, kBeside), value_of(fn, x, -kBeside)) > 0;
    if (decided || pole) raise(jumps, 1);
    if (decided) leap = widest;
    const bool exact = keeps_integers(fn) && widest == 0 && whole(unrounded(fn, x, y));
    to.leap[i] = stored_leap(widest, leap);
    to.bound[i] =
        chooses(fn) || exact ? kept(dtype, raw, widest, leap) : rounded(dtype, raw, widest, leap);
  }
};

}  // namespace

void unary_bound(UnaryFn fn, Bounds to, Noisy in, int64_t n, DType dtype, float* jumps,
                 cudaStream_t stream) {
  parallel_for(n, stream, kBounds, UnaryBound{fn, to, in, dtype, jumps});
}

void binary_bound(BinaryFn fn, Bounds to, Noisy a, const Strided& a_view, Noisy b,
                  const Strided& b_view, bool same, DType dtype, float* jumps,
                  cudaStream_t stream) {
  parallel_for(elements_of(a_view), stream, kBounds,
               BinaryBound{fn, to, a, b, a_view, b_view, same, dtype, jumps});
}

}  // namespace hirgen::reference
