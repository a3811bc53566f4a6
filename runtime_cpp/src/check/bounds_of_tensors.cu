// Kernels that round, widen, scale and measure the bounds of a whole tensor, or shake its elements.
#include "check/bounds.hpp"
#include "check/bounds_numbers.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::reference {
namespace {

struct RoundBound {
  Bounds to;
  const float* raw;
  DType dtype;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    to.bound[i] = rounded(dtype, raw[i], to.bound[i], to.leap == nullptr ? 0 : to.leap[i]);
  }
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

struct LargestBound {
  Bounds to;
  Noisy x;
  int64_t count, inner;
  float* uncertain;

  /// Returns whether one element of the row that begins at `first` is the largest, whatever the
  /// errors of the elements are.
  HG_HOST_DEVICE bool certain(int64_t first) const {
    const int64_t end = first + count * inner;
    int64_t best = first;
    for (int64_t i = first; i < end; i += inner) {
      if (x.data[i] != x.data[i]) return false;
      if (x.data[i] > x.data[best]) best = i;
    }
    if (bound_of(x, best) == INFINITY) return false;
    const double least = x.data[best] - bound_of(x, best);
    for (int64_t i = first; i < end; i += inner) {
      if (i != best && !(x.data[i] + bound_of(x, i) < least)) return false;
    }
    return true;
  }

  HG_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t first = row / inner * count * inner + row % inner;
    const bool known = certain(first);
    for (int64_t i = first; i < first + count * inner; i += inner) {
      if (known) to.bound[i] = to.leap[i] = 0;
      if (to.bound[i] > 0) raise(uncertain, 1);
    }
  }
};

}  // namespace

void round_bound(Bounds to, const float* raw, int64_t n, DType dtype, cudaStream_t stream) {
  parallel_for(n, stream, kBounds, RoundBound{to, raw, dtype});
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

void bound_largest(Bounds to, Noisy x, int64_t outer, int64_t count, int64_t inner,
                   float* uncertain, cudaStream_t stream) {
  parallel_for(outer * inner, stream, kBounds, LargestBound{to, x, count, inner, uncertain});
}

}  // namespace hirgen::reference
