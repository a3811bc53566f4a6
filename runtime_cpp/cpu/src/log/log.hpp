// The log of HIRGEN_CPU_LOG: allocations, and the memory that each copy, fill, library call and
// kernel accesses.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hirgen_cpu {

/// Elements that a call accesses. With two axes, element [i, j] is i*strides[0] + j*strides[1]
/// elements after `at`.
struct LoggedOperand {
  const void* at;
  bool write;
  size_t size;  ///< bytes of an element
  std::vector<int64_t> extents, strides;
};

/// Returns the operand of `count` adjacent elements of `size` bytes each.
inline LoggedOperand logged_run(const void* at, bool write, size_t size, size_t count) {
  return {at, write, size, {static_cast<int64_t>(count)}, {1}};
}

/// Whether HIRGEN_CPU_LOG is set and this process has opened its log.
bool logging();

/// A logged call that puts work on a stream. `number` counts the logged calls of the process from
/// 0, in the order in which the host makes them. `stream` is the id of a Stream.
struct LoggedCall {
  const char* kind;
  std::string label;
  int device;
  uint64_t number, stream;
};

/// Describes a call with the next number. Its label is `label` or, if that is null, the thread's
/// label (hirgen_cpu_label()).
LoggedCall begin_logged(const char* kind, cudaStream_t stream, const char* label = nullptr);

/// Writes the line of a call.
void write_logged(const LoggedCall& call, const std::vector<LoggedOperand>& operands);

/// Writes the line of an allocation, with the number that identifies it in all processes; does
/// nothing without a log.
void log_allocation(const void* base);

/// Writes a call with the operands that operands() returns. Without a log, does nothing and does
/// not call operands().
template <class Operands>
void log_call(const char* kind, cudaStream_t stream, Operands operands) {
  if (logging()) write_logged(begin_logged(kind, stream), operands());
}

}  // namespace hirgen_cpu
