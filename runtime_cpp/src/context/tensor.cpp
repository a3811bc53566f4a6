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

/// The index of `spelling` among `names`; `what` is for the message.
template <size_t N>
int index_of(const std::array<const char*, N>& names, std::string_view spelling, const char* what) {
  for (size_t i = 0; i < N; ++i) {
    if (spelling == names[i]) return static_cast<int>(i);
  }
  throw Error(Code::kInternal,
              std::string("there is no ") + what + " function " + std::string(spelling));
}

/// The constant of a function, in parentheses at the end of `text`. std::stof would reject
/// subnormal numbers, which strtof rounds like other numbers.
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
    case DType::kFp32:
      return "fp32";
    case DType::kFp16:
      return "fp16";
    case DType::kBf16:
      return "bf16";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
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

// The lists below are in the order of the enumerators.

UnaryFn unary_fn(std::string_view spelling) {
  static constexpr std::array<const char*, 20> kNames = {
      "copy",      "neg",       "relu",      "gelu",           "silu",  "exp",        "log",
      "sin",       "cos",       "sqrt",      "rsqrt",          "tanh",  "reciprocal", "gelu_tanh",
      "relu_grad", "gelu_grad", "silu_grad", "gelu_tanh_grad", "scale", "shift"};
  const size_t open = spelling.find('(');
  const auto kind = static_cast<UnaryFn::Kind>(index_of(kNames, spelling.substr(0, open), "unary"));
  const bool has_constant = open != std::string_view::npos;
  if (has_constant != (kind >= UnaryFn::kScale)) {
    throw Error(Code::kInternal, "there is no unary function " + std::string(spelling));
  }
  return {kind, has_constant ? constant_of(spelling.substr(open + 1)) : 0.0F};
}

BinaryFn binary_fn(std::string_view spelling) {
  static constexpr std::array<const char*, 12> kNames = {
      "add", "sub", "mul", "div", "max", "min", "ge", "gt", "eq", "keep", "drop", "masked"};
  return static_cast<BinaryFn>(index_of(kNames, spelling, "binary"));
}

ReduceFn reduce_fn(std::string_view spelling) {
  static constexpr std::array<const char*, 4> kNames = {"sum", "max", "min", "prod"};
  return static_cast<ReduceFn>(index_of(kNames, spelling, "reduce"));
}

}  // namespace hirgen
