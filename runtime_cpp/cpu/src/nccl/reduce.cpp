#include "nccl/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/element.hpp"

namespace hirgen_cpu {
namespace {

constexpr size_t kBlock = 1024;

/// The type that sums are kept in: floats for 16-bit floats, unsigned for integers (they wrap).
template <class T>
struct Accumulator {
  using Type = T;
};
template <>
struct Accumulator<__half> {
  using Type = float;
};
template <>
struct Accumulator<__nv_bfloat16> {
  using Type = float;
};

template <class T>
auto widen(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return to_float(value);
  }
}

template <class T, class A>
void narrow(A value, T* result) {
  if constexpr (std::is_arithmetic_v<T>) {
    *result = value;
  } else {
    from_float(value, result);
  }
}

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
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
  }
  return a;
}

template <class T>
void reduce_typed(T* result, const std::vector<const void*>& sources, size_t count,
                  ncclRedOp_t op) {
  using A = typename Accumulator<T>::Type;
  A sum[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t length = std::min(kBlock, count - begin);
    for (size_t s = 0; s < sources.size(); ++s) {
      const T* source = static_cast<const T*>(sources[s]) + begin;
      for (size_t i = 0; i < length; ++i) {
        sum[i] = s == 0 ? widen(source[i]) : combine<A>(op, sum[i], widen(source[i]));
      }
    }
    for (size_t i = 0; i < length; ++i) narrow(sum[i], result + begin + i);
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
  }
  return 0;
}

void reduce(void* result, const std::vector<const void*>& sources, size_t count,
            ncclDataType_t type, ncclRedOp_t op) {
  auto run = [&](auto* typed) { reduce_typed(typed, sources, count, op); };
  switch (type) {
    case ncclInt8:
      return run(static_cast<int8_t*>(result));
    case ncclUint8:
      return run(static_cast<uint8_t*>(result));
    case ncclInt32:
      return run(static_cast<int32_t*>(result));
    case ncclUint32:
      return run(static_cast<uint32_t*>(result));
    case ncclInt64:
      return run(static_cast<int64_t*>(result));
    case ncclUint64:
      return run(static_cast<uint64_t*>(result));
    case ncclFloat16:
      return run(static_cast<__half*>(result));
    case ncclFloat32:
      return run(static_cast<float*>(result));
    case ncclFloat64:
      return run(static_cast<double*>(result));
    case ncclBfloat16:
      return run(static_cast<__nv_bfloat16*>(result));
  }
}

}  // namespace hirgen_cpu
