#include "hirgen/tensor.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hirgen/error.hpp"
#include "hirgen/kernels.hpp"

namespace hirgen {
namespace {

/// The index of `spelling` among `names`. Throws Error(kInternal), with `what`, if it is missing.
template <size_t N>
int index_of(const std::array<const char*, N>& names, std::string_view spelling, const char* what) {
  for (size_t i = 0; i < N; ++i) {
    if (spelling == names[i]) return static_cast<int>(i);
  }
  throw Error(Code::kInternal,
              std::string("there is no ") + what + " function " + std::string(spelling));
}

/// The constant of a function, from the text after "(", which ends with ")". Throws
/// Error(kInternal) for other text. std::stof would reject subnormal numbers, which strtof rounds
/// like other numbers.
float constant_of(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const float constant = std::strtof(copy.c_str(), &end);
  if (end == copy.c_str() || std::string_view(end) != ")" || !std::isfinite(constant)) {
    throw Error(Code::kInternal, "there is no constant " + copy);
  }
  return constant;
}

}  // namespace

const char* spelling(DType type) {
  switch (type) {
#define HG_CASE(enumerator, name, ...) \
  case DType::enumerator:              \
    return #name;
    HG_TYPES(HG_CASE)
#undef HG_CASE
  }
  return "an unknown type";
}

std::vector<int64_t> TensorDesc::shape() const {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

int64_t TensorDesc::elements() const {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

int64_t TensorDesc::local_elements() const {
  if (!present) return 0;
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.local();
  return product;
}

#define HG_NAME(enumerator, name, ...) #name,

UnaryFn unary_fn(std::string_view spelling) {
  static constexpr std::array kNames = {"copy", HG_UNARY_FUNCTIONS(HG_NAME)};
  static constexpr std::array kWithConstant = {HG_CONSTANT_FUNCTIONS(HG_NAME)};
  const size_t open = spelling.find('(');
  if (open == std::string_view::npos) {
    return static_cast<UnaryFn::Kind>(index_of(kNames, spelling, "unary"));
  }
  const size_t at = kNames.size() + index_of(kWithConstant, spelling.substr(0, open), "unary");
  return {static_cast<UnaryFn::Kind>(at), constant_of(spelling.substr(open + 1))};
}

BinaryFn binary_fn(std::string_view spelling) {
  static constexpr std::array kNames = {HG_BINARY_FUNCTIONS(HG_NAME)};
  return static_cast<BinaryFn>(index_of(kNames, spelling, "binary"));
}

ReduceFn reduce_fn(std::string_view spelling) {
  static constexpr std::array kNames = {HG_FOLDS(HG_NAME)};
  return static_cast<ReduceFn>(index_of(kNames, spelling, "reduce"));
}

#undef HG_NAME

}  // namespace hirgen
