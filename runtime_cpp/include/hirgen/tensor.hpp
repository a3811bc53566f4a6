// Descriptions of the tensors of a program, with which the driver fills, checks, loads and dumps
// them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/host_device.hpp"
#include "hirgen/type_rows.hpp"

namespace hirgen {

/// Element types. Values are stable: they are part of the C ABI. Kernels convert integers to fp32
/// to compute with them. Values of 8-bit types are only moved, converted, and multiplied in GEMMs.
#define HG_ENUMERATOR(enumerator, name, type, value, ...) enumerator = (value),
enum class DType : int { HG_TYPES(HG_ENUMERATOR) };
#undef HG_ENUMERATOR

HG_HOST_DEVICE constexpr bool is_integer(DType type) {
#define HG_IS(enumerator, ...) || type == DType::enumerator
  return false HG_INTEGER_TYPES(HG_IS);
#undef HG_IS
}

/// Returns the size of one element in bytes.
constexpr size_t size_of(DType type) {
#define HG_SIZE(enumerator, name, cpp, value, bytes, ...) \
  if (type == DType::enumerator) return bytes;
  HG_TYPES(HG_SIZE)
#undef HG_SIZE
  return 0;
}

/// Returns the spec's name of an element type: "fp32", "fp8_e4m3", "int32".
const char* spelling(DType type);

/// One axis of a tensor's buffer. A buffer lacks the axes along which the tensor is reduced.
struct Axis {
  int64_t extent = 1;       ///< elements over all ranks
  int mesh_extent = 1;      ///< number of ranks that the axis is split over; 1 if it is not split
  int mesh_coordinate = 0;  ///< index of this rank's shard, from 0
  int64_t local() const { return extent / mesh_extent; }  ///< elements on this rank
};

/// Returns an axis that is split over `ranks` ranks, with one element on each. This rank has
/// element `coordinate`.
constexpr Axis split(int64_t ranks, int coordinate) {
  return {ranks, static_cast<int>(ranks), coordinate};
}

/// The values that the check generates for a floating-point input. kNormal: normally distributed
/// values. kPositive: the absolute value of a normal value, plus 1/4. kMask: 0 or 1. An exact check
/// uses sparse integers instead of kNormal and kPositive.
enum class Fill { kNormal, kPositive, kMask };

/// Returns 1 / sqrt(n).
inline double inverse_root(int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); }

/// A tensor as one rank sees it. The local buffer is row-major over the local extents of `axes`.
struct TensorDesc {
  std::string name;
  DType dtype = DType::kFp32;
  std::vector<Axis> axes;  ///< in logical order
  bool output = false;
  std::string where;  ///< spec position
  /// The largest number of terms of a sum in a GEMM with this input, times the lengths of later
  /// sums of the GEMM's results; 1 without such GEMMs. The larger this number, the more of the
  /// integers that fill the input are 0, so that every sum stays exact.
  int64_t contraction = 1;
  /// Standard deviation of the normal values that fill this input. If the check is not exact, a
  /// weight has inverse_root(n), where n is the largest number of terms that its GEMMs sum on one
  /// rank. So the values do not grow from GEMM to GEMM. For an integer input, the number of rows of
  /// the table if the elements are row numbers, else 1.
  double deviation = 1;
  Fill fill = Fill::kNormal;
  /// Whether the values of this output depend on rounding; the check then allows errors within a
  /// bound. If no output does, integers fill the inputs, and the check is exact unless inputs are
  /// loaded from files.
  bool rounded = false;
  /// Whether this input is saved by a forward pass: the check computes it from the other inputs
  /// (ProgramTable::saved).
  bool saved = false;
  /// Whether other ranks access this rank's buffer over CUDA IPC.
  bool shared = false;
  /// False on a rank outside the tensor's mesh: it has no buffer, and local_elements() is 0.
  bool present = true;

  std::vector<int64_t> shape() const;  ///< extents over all ranks
  int64_t elements() const;            ///< number over all ranks
  int64_t local_elements() const;      ///< on this rank
  size_t local_bytes() const { return static_cast<size_t>(local_elements()) * size_of(dtype); }
};

}  // namespace hirgen
