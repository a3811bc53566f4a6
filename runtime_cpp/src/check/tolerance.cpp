#include "check/tolerance.hpp"

#include <algorithm>
#include <cmath>

#include "hirgen/numerics.hpp"

namespace hirgen {

namespace {

/// The distance from 1 to the next number of a type.
double epsilon(DType type) {
#define HG_EPSILON(enumerator, name, element, value, bytes, digits, ...) \
  if (type == DType::enumerator) return 1.0 / (1 << (digits));
  HG_TYPES(HG_EPSILON)
#undef HG_EPSILON
  return 1;
}

}  // namespace

double root_mean_square(const char* data, DType type, int64_t elements) {
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double value = load(data, type, i);
    sum += value * value;
  }
  return elements == 0 ? 0 : std::sqrt(sum / static_cast<double>(elements));
}

Tolerance tolerance_of(const std::vector<TensorDesc>& descs, const std::map<size_t, double>& rms) {
  double terms = 1;
  double scale = 1;
  double coarsest = 0;
  for (size_t i = 0; i < descs.size(); ++i) {
    coarsest = std::max(coarsest, epsilon(descs[i].dtype));
    const auto contraction = static_cast<double>(descs[i].contraction);
    terms = std::max(terms, contraction);
    const auto known = rms.find(i);
    const double own = known == rms.end() ? 1 : known->second;
    if (descs[i].output) continue;
    // Factors of a product multiply; what is added to it (a bias) only may be larger.
    scale = contraction > 1 ? scale * own : std::max(scale, own);
  }
  const double spread = coarsest == epsilon(DType::kFp32) ? terms : std::sqrt(terms);
  return {2 * coarsest, coarsest * spread * scale};
}

}  // namespace hirgen
