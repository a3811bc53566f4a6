// Binary functions of two numbers on the host.
#pragma once

#include <algorithm>
#include <limits>

#include "hirgen/kernels.hpp"

namespace math_test {

using hirgen::BinaryFn;

inline float apply(BinaryFn fn, float a, float b) {
  switch (fn) {
    case BinaryFn::kAdd:
      return a + b;
    case BinaryFn::kSub:
      return a - b;
    case BinaryFn::kMul:
      return a * b;
    case BinaryFn::kDiv:
      return a / b;
    case BinaryFn::kMax:
      return std::max(a, b);
    case BinaryFn::kMin:
      return std::min(a, b);
    case BinaryFn::kGe:
      return a >= b ? 1 : 0;
    case BinaryFn::kGt:
      return a > b ? 1 : 0;
    case BinaryFn::kEq:
      return a == b ? 1 : 0;
    case BinaryFn::kKeep:
      return b != 0 ? a : 0;
    case BinaryFn::kDrop:
      return b == 0 ? a : 0;
    case BinaryFn::kMasked:
      return b != 0 ? a : -std::numeric_limits<float>::infinity();
  }
  return 0;
}

}  // namespace math_test
