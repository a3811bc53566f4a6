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
HG_HOST_DEVICE inline float elsewhere(double value, double squares, double partial, int64_t i) {
  const double drawn = random_at(7, i) + random_at(8, i);
  const double moved = 0.35 * partial * hypot(sqrt(squares), value) * drawn;
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

}  // namespace

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

void add_squares(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddSquares{out, a, b});
}

void add_to(float* out, const float* in, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, AddTo{out, in});
}

}  // namespace hirgen::reference
