#include "nccl/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/element.hpp"

namespace hirgen_cpu {
namespace {

constexpr size_t kBlock = 1024;

/// The type in which elements accumulate: float for 16-bit floats, else the type itself.
template <class T>
using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

/// Combines two values. As in NCCL's kernels, the max or min of NaN and a number is the number, and
/// integers wrap.
template <class A>
A combine(ncclRedOp_t op, A a, A b) {
  using Wrapping = typename std::conditional_t<std::is_integral_v<A>, std::make_unsigned<A>,
                                               std::type_identity<A>>::type;
  switch (op) {
    case ncclSum:
      return static_cast<A>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    case ncclProd:
      return static_cast<A>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    case ncclMax:
      if constexpr (std::is_floating_point_v<A>) return std::fmax(a, b);
      return std::max(a, b);
    case ncclMin:
      if constexpr (std::is_floating_point_v<A>) return std::fmin(a, b);
      return std::min(a, b);
  }
  return a;
}

template <class T>
void reduce_typed(T* result, const std::vector<const void*>& sources, size_t count,
                  ncclRedOp_t op) {
  using A = Accumulator<T>;
  A sum[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t length = std::min(kBlock, count - begin);
    for (size_t s = 0; s < sources.size(); ++s) {
      const T* source = static_cast<const T*>(sources[s]) + begin;
      for (size_t i = 0; i < length; ++i) {
        const A value = source[i];
        sum[i] = s == 0 ? value : combine<A>(op, sum[i], value);
      }
    }
    for (size_t i = 0; i < length; ++i) result[begin + i] = sum[i];
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
#define HIRGEN_CPU_SIZE(element, nccl, ...) \
  if (type == nccl) return sizeof(element);
  HIRGEN_CPU_TYPES(HIRGEN_CPU_SIZE)
#undef HIRGEN_CPU_SIZE
  return 0;
}

void reduce(void* result, const std::vector<const void*>& sources, size_t count,
            ncclDataType_t type, ncclRedOp_t op) {
#define HIRGEN_CPU_REDUCE(element, nccl, ...) \
  if (type == nccl) return reduce_typed(static_cast<element*>(result), sources, count, op);
  HIRGEN_CPU_TYPES(HIRGEN_CPU_REDUCE)
#undef HIRGEN_CPU_REDUCE
}

}  // namespace hirgen_cpu
