// The allowed distance of a result from the reference, if the inputs are not the exact integers
// that the program fills itself with.
#pragma once

#include <map>
#include <vector>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// |got - expected| <= absolute + relative |expected|; both 0 is an exact comparison.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// The root of the mean square of `elements` elements.
double root_mean_square(const char* data, DType type, int64_t elements);

/// The tolerance for loaded inputs. `rms[i]` is the root mean square of input i (1 if it is
/// missing). Program and reference sum the same K products in different orders and round the sum
/// once:
///   relative = 2 eps: each rounds to a neighbour of the true value;
///   absolute = eps * sqrt(K) * product of the factors' rms: one rounding of a sum of
///              typical size, for results that cancel to less than that.
/// eps is 2^-23, 2^-10 or 2^-7 (the spacing of fp32, fp16, bf16 at 1), and fp32 results
/// get eps * K instead of eps * sqrt(K), since there the sums themselves round.
Tolerance tolerance_of(const std::vector<TensorDesc>& descs, const std::map<size_t, double>& rms);

}  // namespace hirgen
