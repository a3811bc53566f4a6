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
    // An epilogue of cuBLASLt adds 1 to a tanh near -1, which loses its last digits.
    if (fn.kind == UnaryFn::kGeluTanh && x - x == 0) widest += kSpread * kEpsilon * fabs(x);
    if (is_integer(dtype)) widest = widest > 0 && e == INFINITY ? INFINITY : kMissed * widest;
    if ((decides(fn) || is_integer(dtype)) && widest > 0) raise(jumps, 1);
    // A copy to fp32 does not round. A copy to a shorter type may round an element that has an
    // error, even if the type can represent raw[0].
    const bool copies = fn.kind == UnaryFn::kCopy && (dtype == DType::kFp32 || widest == 0);
    const bool exact =
        keeps_integers(fn) && widest == 0 && whole(in.data[i]) && whole(fn.by) && whole(raw[0]);
    bound[i] = chooses(fn) || copies || exact ? kept(dtype, raw[0], widest)
                                              : rounded(dtype, raw[0], widest);
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
    const bool exact = keeps_integers(fn) && widest == 0 && whole(x) && whole(y) && whole(raw);
    bound[i] = chooses(fn) || exact ? kept(dtype, raw, widest) : rounded(dtype, raw, widest);
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

}  // namespace hirgen::reference
