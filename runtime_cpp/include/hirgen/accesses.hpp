// How kernels access their operands: the elements of an access, and the accesses that a thread
// issues at once. Include this from .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hirgen/kernels.hpp"

namespace hirgen {

/// How a kernel accesses its operands: if `aligned`, it may access W elements at once, else one.
/// Row indices have type I, which is 32 bits wide if possible, because 64-bit divisions take many
/// times as long.
template <int W, int Operands, typename I = uint32_t>
struct Accesses {
  using Index = I;
  static constexpr int kWidth = W;
  /// The number of reads of each operand that a thread issues before it uses the first of them.
  /// With fewer operands, the registers suffice for more reads of each.
  static constexpr int kAtOnce = Operands <= 2 ? 4 : Operands <= 4 ? 2 : 1;
  /// The number of such reads in kernels on rows. With this number, the registers of an SM suffice
  /// for kThreadsOfSm threads.
  static constexpr int kOfRow = Operands <= 4 ? 4 : 2;
  bool aligned;

  /// Returns accesses as for a kernel with at least five operands, which issues fewer reads at
  /// once. Used for kernels that need many registers for arithmetic.
  Accesses<W, std::max(Operands, 5), I> few() const { return {aligned}; }
  /// Returns accesses with 64-bit row indices, for a kernel with 2^32 rows or more, or with more
  /// blocks than a grid can have.
  Accesses<W, Operands, uint64_t> wide() const { return {aligned}; }
};

/// element_of() is declared only for its result type, the element type of an operand. aligned()
/// returns whether the operand starts at a multiple of 16 bytes. For a Scattered operand, all rows
/// must start at such multiples, and columns must be adjacent.
template <typename T>
T element_of(T* operand);
template <typename T, int A>
T element_of(const Scattered<T, A>& operand);
template <typename T>
bool aligned(T* operand) {
  return reinterpret_cast<uintptr_t>(operand) % 16 == 0;
}
template <typename T, int A>
bool aligned(const Scattered<T, A>& operand) {
  const auto whole = [](int64_t stride) { return stride * int64_t{sizeof(T)} % 16 == 0; };
  return aligned(operand.data) && std::all_of(operand.stride, operand.stride + A, whole) &&
         operand.stride[A] == 1;
}

/// Returns the accesses of a kernel with these operands. An access has the number of elements of
/// the smallest element type that fill 16 bytes, but at most 8. With 16 elements, the values that a
/// body keeps would not fit into the registers of a thread.
template <typename... Operand>
auto accesses(const Operand&... operands) {
  constexpr int kBytes = std::max(2, static_cast<int>(std::min({sizeof(element_of(operands))...})));
  constexpr int kWidth = 16 / kBytes;
  return Accesses<kWidth, sizeof...(Operand)>{(aligned(operands) && ...)};
}

}  // namespace hirgen
