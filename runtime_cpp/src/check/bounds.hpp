// Error bounds: the largest distance of elements of a correct program from the reference, operation
// by operation, by the rules of model/eval/bounds.go in hirgen. The reference also evaluates each
// operation a second time, with other roundings. The distance of the two results shows how large
// the errors are, and tightens the bounds (DeviceReference::tighten()).
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "check/reference_kernels.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen::reference {

/// An operand and the error bounds of its elements. If `bound` is null, no element has an error.
/// `leap` has the part of each bound that is due to leaps: errors that rounding causes when it
/// decides a step, such as an integer or a mask. They may all have one sign and add up in full,
/// while other errors add up as in a random walk. If `leap` is null, there are none. `log` has the
/// error bounds of the elements' logarithms; null if they are not known.
struct Noisy {
  const float* data;
  const float* bound;
  const float* leap = nullptr;
  const float* log = nullptr;
};

/// The error bounds of a result, and the parts of them that are due to leaps.
struct Bounds {
  float* bound;
  float* leap;
};

/// A number in device memory, 0 at first. Kernels raise it: replace it by the larger of it and
/// another number.
class Largest {
 public:
  explicit Largest(cudaStream_t stream);
  ~Largest();
  Largest(const Largest&) = delete;
  Largest& operator=(const Largest&) = delete;

  float* get() const { return number_; }
  /// Waits for the stream and returns the number.
  float fetch() const;

 private:
  cudaStream_t stream_;
  float* number_ = nullptr;
};

/// to = the error bounds of fn(in[i]), rounded to `dtype`. Raises `jumps` to 1 if errors of
/// operands may decide between branches of the function, or the side of a pole. For binary_bound(),
/// `same` means that both operands are one tensor.
void unary_bound(UnaryFn fn, Bounds to, Noisy in, int64_t n, DType dtype, float* jumps,
                 cudaStream_t stream);
void binary_bound(BinaryFn fn, Bounds to, Noisy a, const Strided& a_view, Noisy b,
                  const Strided& b_view, bool same, DType dtype, float* jumps, cudaStream_t stream);
/// Lowers the bounds of eq(x, max x) or ge(x, max x), with the max over the middle axis of
/// x[outer, count, inner]: they are 0 in each row in which no other element may be as large as the
/// largest. Raises `uncertain` to 1 if other rows have bounds.
void bound_largest(Bounds to, Noisy x, int64_t outer, int64_t count, int64_t inner,
                   float* uncertain, cudaStream_t stream);
/// to = the error bounds of a reduction over the middle axis of in[outer, count, inner]. to.leap is
/// null if in.leap is. `common`, `partial` and `seed` are as in Products. For a sum, adds errors of
/// partial sums to `other`, the result of a second evaluation. If several `ranks` may share the
/// reduction, the bound of a max or min that is NaN is infinite, because NCCL may drop NaN.
void reduce_bound(ReduceFn fn, Bounds to, float* other, Noisy in, int64_t outer, int64_t count,
                  int64_t inner, double common, double partial, uint64_t seed, DType dtype,
                  bool ranks, cudaStream_t stream);
/// The logarithms of the sums of exp(in[i]) over the middle axis of in[outer, count, inner], and
/// their error bounds, if all terms are the largest or the smallest possible.
void sum_logarithms(float* value, float* bound, Noisy in, int64_t outer, int64_t count,
                    int64_t inner, cudaStream_t stream);
/// The result of a matmul, the sums of its squared terms, and relative errors. product_bound()
/// replaces to.bound, the sums of the squared bounds of the terms without leaps, by bounds of the
/// result. to.leap has the sums of leaps; null: there are none. It adds errors of the ranks'
/// partial sums to `other`, the result of a second evaluation.
struct Products {
  const float* value;
  const float* squares;
  /// Relative errors: an error that all terms have in common, of the ranks' partial sums, and of
  /// adding in fp32.
  double common, partial, sum;
  bool unsure;    ///< a bound of an operand is infinite
  uint64_t seed;  ///< of the errors of partial sums; differs from sum to sum
};
void product_bound(const Products& products, Bounds to, float* other, int64_t n, DType dtype,
                   cudaStream_t stream);
/// Combines to.bound[i] with the error of rounding raw[i] to `dtype`. to.leap may be null.
void round_bound(Bounds to, const float* raw, int64_t n, DType dtype, cudaStream_t stream);

/// out[i] = a[i]^2 + b[i]^2, or |a[i]| + |b[i]|; without the term of an array that is null.
void add_squares(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream);
void add_sizes(float* out, const float* a, const float* b, int64_t n, cudaStream_t stream);
/// out[i] = the part of in.bound[i] that is not due to leaps.
void rests(float* out, Noisy in, int64_t n, cudaStream_t stream);
/// out[i] += in[i].
void add_to(float* out, const float* in, int64_t n, cudaStream_t stream);
/// out[i] = in[i], moved up or down at random by hypot(bound[i], relative * in[i]).
void shake(float* out, Noisy in, double relative, uint64_t seed, int64_t n, cudaStream_t stream);
/// bound[i] = the larger of bound[i] and the distance of a[i] and b[i]; infinite if b[i] is not
/// finite and `unsure` is true. Adds the squares of the distances to `sum`.
void widen_bound(float* bound, const float* a, const float* b, bool unsure, int64_t n, double* sum,
                 cudaStream_t stream);
/// bound[i] = the larger of bound[i] and `least`.
void at_least(float* bound, double least, int64_t n, cudaStream_t stream);
/// bound[i] = 0 where value[i] is infinite and 0.9 * other[i], rounded to `dtype`, is the same
/// infinity.
void exact_overflow(float* bound, const float* value, const float* other, int64_t n, DType dtype,
                    cudaStream_t stream);
/// bound[i] *= by, where bound[i] is finite.
void scale_bound(float* bound, double by, int64_t n, cudaStream_t stream);

/// Raises `largest` to the largest |data[i]| / bound[i], or to infinity if a bound is 0. Ignores
/// elements that are 0 or not finite.
void largest_share(float* largest, Noisy in, int64_t n, cudaStream_t stream);
/// Raises `largest` to 1 if a bound is infinite.
void any_infinite(float* largest, const float* bound, int64_t n, cudaStream_t stream);
/// Raises `largest` to the largest distance of a[i] and b[i] divided by bound[i]. Ignores elements
/// with an infinite distance or with a bound of 0.
void largest_distance(float* largest, const float* a, const float* b, const float* bound, int64_t n,
                      cudaStream_t stream);

/// Returns whether each result of a function is an operand (up to sign), a constant, a small
/// integer, or -inf; false for kCopy, which may round.
HG_HOST_DEVICE inline bool chooses(UnaryFn fn) {
  return fn.kind == UnaryFn::kAbs || fn.kind == UnaryFn::kNeg || fn.kind == UnaryFn::kRelu ||
         fn.kind == UnaryFn::kReluGrad || fn.kind == UnaryFn::kSign ||
         fn.kind == UnaryFn::kClampMin || fn.kind == UnaryFn::kClampMax;
}
HG_HOST_DEVICE inline bool chooses(BinaryFn fn) {
  return fn == BinaryFn::kGe || fn == BinaryFn::kGt || fn == BinaryFn::kEq ||
         fn == BinaryFn::kKeep || fn == BinaryFn::kDrop || fn == BinaryFn::kMasked ||
         fn == BinaryFn::kMax || fn == BinaryFn::kMin;
}
HG_HOST_DEVICE inline bool chooses(ReduceFn fn) {
  return fn == ReduceFn::kMax || fn == ReduceFn::kMin;
}

/// Returns true only for functions, besides those of chooses(), that map integers to integers if
/// their constant is an integer.
HG_HOST_DEVICE inline bool keeps_integers(UnaryFn fn) {
  return fn.kind == UnaryFn::kRound || fn.kind == UnaryFn::kScale || fn.kind == UnaryFn::kShift;
}
HG_HOST_DEVICE inline bool keeps_integers(BinaryFn fn) {
  return fn == BinaryFn::kAdd || fn == BinaryFn::kSub || fn == BinaryFn::kMul;
}

/// About six standard deviations of the distance of two correct results with one rounding each, in
/// units of epsilon_of() of their type.
constexpr double kSpread = 2;
/// The ratio of the error of a sum of products to the error of a rounded sum: tensor cores truncate
/// instead of rounding.
constexpr double kChopped = 4;
/// The error of a sum of products of 8-bit numbers, relative to the root of the sum of the squared
/// products: tensor cores add them in fewer bits than fp32 has. On Hopper, sums of 256 products of
/// normal numbers had errors of up to 2^-12.6 of the sum of their sizes, about 2^-9.2 of that root.
/// The errors of longer sums were smaller.
constexpr double kNarrow = 0x1p-8;
constexpr double kEpsilon = 0x1p-23;  ///< distance from 1 to the next fp32 number

/// Returns the distance from 1 to the next number of a type; for integer types, as for fp32.
HG_HOST_DEVICE inline double epsilon_of(DType type) {
  double epsilon = 1;
#define HG_ROW(enumerator, name, element, value, bytes, digits, ...) \
  if (type == DType::enumerator) epsilon = 1.0 / (1 << (digits));
  HG_TYPES(HG_ROW)
#undef HG_ROW
  return epsilon;
}

/// Returns the distance of two results. Infinities of one sign are equal, and so are NaNs. NaN is
/// at an infinite distance from numbers.
HG_HOST_DEVICE inline double apart(double a, double b) {
  if (a == b || (a != a && b != b)) return 0;
  const double distance = a < b ? b - a : a - b;
  return distance == distance ? distance : INFINITY;
}

}  // namespace hirgen::reference
