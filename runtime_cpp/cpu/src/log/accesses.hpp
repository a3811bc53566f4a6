// The accesses of a kernel. Kernels that are compiled with HIRGEN_CPU_ACCESSES call the device at
// each access to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "log/log.hpp"

namespace hirgen_cpu {

/// The accesses of this thread, from its construction to its destruction.
class Accesses {
 public:
  Accesses();
  ~Accesses();
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  void add(uintptr_t at, size_t bytes, bool write);
  /// The accessed runs of bytes in memory of the device: reads, then writes.
  std::vector<LoggedOperand> operands();

 private:
  struct Run {
    uintptr_t begin, end;
  };
  static void merge(std::vector<Run>& runs);
  std::vector<Run> runs_[2];  ///< reads and writes
  size_t merge_at_[2] = {1024, 1024};
};

}  // namespace hirgen_cpu
