// The bounds of reductions and products, and the sums that they need.
#include "check/bounds.hpp"
#include "check/bounds_numbers.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::reference {
namespace {

/// Returns the bound of a sum before rounding, from the sum, the sum of its squared terms, the sum
/// of their squared bounds, and the relative errors of Products.
HG_HOST_DEVICE inline double bound_of_sum(double value, double squares, double noise, double common,
                                          double partial, double sum) {
  return hypot(hypot(sqrt(noise), common * value),
               hypot(partial, sum) * hypot(sqrt(squares), value));
}

/// Returns a random error of the ranks' partial sums for element i of a second evaluation.
HG_HOST_DEVICE inline float elsewhere(double value, double squares, double partial, uint64_t seed,
                                      int64_t i) {
  const double drawn = random_at(2 * seed, i) + random_at(2 * seed + 1, i);
  const double moved = 0.35 * partial * hypot(sqrt(squares), value) * drawn;
  return moved - moved == 0 ? static_cast<float>(moved) : 0.0F;
}

/// The sums of a reduction of terms with errors.
struct Folded {
  float raw = 0;
  double widest = 0;  ///< the largest distance of the fold of varied terms from raw
  double squares = 0, noise = 0, leap = 0;
  bool unsure = false;
};

struct ReduceBound {
  ReduceFn fn;
  Bounds to;
  float* other;
  Noisy in;
  int64_t count, inner;
  double common, partial;
  uint64_t seed;
  DType dtype;
  bool ranks = false;  ///< several ranks may share the reduction; a max or min may drop NaN

  /// Folds the terms of result i, varied within their bounds, with or without the leaps of these.
  HG_HOST_DEVICE Folded folded(int64_t i, bool leaps) const {
    const int64_t first = i / inner * count * inner + i % inner;
    float folds[7];  // of the terms as is, at their four ends(), away from 0 and towards 0
    for (float& fold : folds) fold = identity_of(fn);
    Folded all;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = first + r * inner;
      const double leap = leap_of(in, at), rest = rest_of(bound_of(in, at), leap);
      const double x = in.data[at], e = leaps ? bound_of(in, at) : rest, away = x < 0 ? -e : e;
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
      all.squares += x * x;
      all.noise += rest * rest;
      all.leap += leap;
      all.unsure = all.unsure || e == INFINITY;
    }
    all.raw = folds[0];
    for (const float fold : folds) all.widest = larger_of(all.widest, apart(fold, all.raw));
    return all;
  }

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const Folded near = folded(i, false);
    const double raw = near.raw;
    double widest = near.widest, leap = 0;
    if (fn != ReduceFn::kSum) {
      if (to.leap != nullptr) leap = rest_of(folded(i, true).widest, widest);
      widest += leap;
      if (ranks && fn != ReduceFn::kProd && raw != raw) widest = INFINITY;
    } else if (raw - raw == 0) {
      const double sum = kSpread * kChopped * sqrt(static_cast<double>(count)) * kEpsilon;
      leap = near.leap;
      widest = bound_of_sum(raw, near.squares, near.noise, common, partial, sum) + leap;
      other[i] += elsewhere(raw, near.squares, partial, seed, i);
    } else {
      widest = near.unsure ? INFINITY : 0;
    }
    if (to.leap != nullptr) to.leap[i] = stored_leap(widest, leap);
    to.bound[i] =
        chooses(fn) ? kept(dtype, near.raw, widest, leap) : rounded(dtype, raw, widest, leap);
  }
};

/// The error of the logarithm of an exponential without errors, which is at least exp(-kMostLog).
constexpr double kOfExponential = 0x1p-15;

struct SumLogarithms {
  float *value, *bound;
  Noisy in;
  int64_t count, inner;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i / inner * count * inner + i % inner;
    double sum = 0, least = 0, most = 0;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = first + r * inner;
      const double x = in.data[at], e = bound_of(in, at);
      sum += exp(x);
      least += exp(x - e);
      most += exp(x + e);
    }
    const double log_of_sum = log(sum);
    const double off = larger_of(log(most) - log_of_sum, log_of_sum - log(least));
    value[i] = static_cast<float>(log_of_sum);
    bound[i] = static_cast<float>(off + kOfExponential +
                                  2 * kSpread * kChopped * sqrt(static_cast<double>(count)) *
                                      kEpsilon);  // of adding, twice
  }
};

struct ProductBound {
  Products p;
  Bounds to;
  float* other;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const double raw = other[i], value = p.value[i], squares = p.squares[i];
    const double leap = to.leap == nullptr ? 0 : to.leap[i];
    double widest = p.unsure ? INFINITY : 0;
    if (raw - raw == 0) {
      widest = bound_of_sum(value, squares, to.bound[i], p.common, p.partial, p.sum) + leap;
      other[i] += elsewhere(value, squares, p.partial, p.seed, i);
    }
    if (to.leap != nullptr) to.leap[i] = stored_leap(widest, leap);
    to.bound[i] = rounded(dtype, raw, widest, leap);
  }
};

struct AddSquares {
  float* out;
  const float *a, *b;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    out[i] = (a == nullptr ? 0 : a[i] * a[i]) + (b == nullptr ? 0 : b[i] * b[i]);
  }
};

struct AddSizes {
  float* out;
  const float *a, *b;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    out[i] = (a == nullptr ? 0 : fabsf(a[i])) + (b == nullptr ? 0 : fabsf(b[i]));
  }
};

struct Rests {
  float* out;
  Noisy in;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    out[i] = static_cast<float>(rest_of(bound_of(in, i), leap_of(in, i)));
  }
};

struct AddTo {
  float* out;
  const float* in;
  HG_HOST_DEVICE void operator()(int64_t i) const { out[i] += in[i]; }
};

}  // namespace

void reduce_bound(ReduceFn fn, Bounds to, float* other, Noisy in, int64_t outer, int64_t count,
                  int64_t inner, double common, double partial, uint64_t seed, DType dtype,
                  bool ranks, cudaStream_t stream) {
  parallel_for(outer * inner, stream, kBounds,
               ReduceBound{fn, to, other, in, count, inner, common, partial, seed, dtype, ranks});
}

void sum_logarithms(float* value, float* bound, Noisy in, int64_t outer, int64_t count,
                    int64_t inner, cudaStream_t stream) {
  parallel_for(outer * inner, stream, kBounds, SumLogarithms{value, bound, in, count, inner});
}

void product_bound(const Products& products, Bounds to, float* other, int64_t n, DType dtype,
                   cudaStream_t stream) {
  parallel_for(n, stream, kBounds, ProductBound{products, to, other, dtype});
}

void add_squares(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddSquares{out, a, b});
}

void add_sizes(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddSizes{out, a, b});
}

void rests(float* out, Noisy in, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, Rests{out, in});
}

void add_to(float* out, const float* in, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddTo{out, in});
}

}  // namespace hirgen::reference
