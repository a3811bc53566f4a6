// Descriptions of the tensors of a program, with which the driver fills, checks, loads and dumps
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/type_rows.hpp"

namespace hirgen {

/// Element types. Values are stable: they are part of the C ABI. No operation computes in integers,
/// which hold seeds, positions and masks, nor in types of 8 bits.
#define HG_ENUMERATOR(enumerator, name, type, value, ...) enumerator = (value),
enum class DType : int { HG_TYPES(HG_ENUMERATOR) };
#undef HG_ENUMERATOR

constexpr bool is_integer(DType type) {
#define HG_IS(enumerator, ...) || type == DType::enumerator
  return false HG_INTEGER_TYPES(HG_IS);
#undef HG_IS
}

/// Size of one element in bytes.
constexpr size_t size_of(DType type) {
#define HG_SIZE(enumerator, name, cpp, value, bytes, ...) \
  if (type == DType::enumerator) return bytes;
  HG_TYPES(HG_SIZE)
#undef HG_SIZE
  return 0;
}

/// The spec's spelling of an element type: "fp32", "fp8_e4m3", "int32".
const char* spelling(DType type);

/// One axis of a tensor's buffer, in logical order. A reduction axis is not listed.
struct Axis {
  int64_t extent = 1;       ///< elements over all ranks
  int mesh_extent = 1;      ///< ranks that the axis is split over; 1 when it is not
  int mesh_coordinate = 0;  ///< which shard this rank holds
  int64_t local() const { return extent / mesh_extent; }  ///< elements on this rank
};

/// The values that the check generates for a floating-point input. kNormal: normally distributed.
/// kPositive: their absolute values plus 1/4. kMask: 0 or 1. An exact check uses sparse integers
/// instead of kNormal and kPositive.
enum class Fill { kNormal, kPositive, kMask };

/// A tensor as one rank sees it. The local buffer is row-major over `axes`.
struct TensorDesc {
  std::string name;
  DType dtype = DType::kFp32;
  std::vector<Axis> axes;
  bool output = false;
  std::string where;  ///< spec position
  /// The largest number of terms that GEMMs with this input sum; 1 without such GEMMs. The more
  /// terms, the sparser are the integers that fill the input, so that every sum stays exact.
  int64_t contraction = 1;
  /// Standard deviation of the normal values that fill this input. If integers are numbers of rows:
  /// how many rows there are.
  double deviation = 1;
  Fill fill = Fill::kNormal;
  /// For an output: its values depend on rounding, and the check allows for that. If no output is
  /// rounded, the check is exact, and integers fill the inputs.
  bool rounded = false;
  /// An input that a forward pass saves: the check computes it from the others
  /// (ProgramTable::saved).
  bool saved = false;
  /// Other ranks access this rank's buffer over CUDA IPC.
  bool shared = false;
  /// False on a rank outside the tensor's mesh: it has no buffer, and local_elements() is 0.
  bool present = true;

  std::vector<int64_t> shape() const;  ///< extents over all ranks
  int64_t elements() const;            ///< over all ranks
  int64_t local_elements() const;      ///< on this rank
  size_t local_bytes() const { return static_cast<size_t>(local_elements()) * size_of(dtype); }
};

}  // namespace hirgen
