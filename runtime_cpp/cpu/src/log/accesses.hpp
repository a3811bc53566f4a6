// Records the accesses of a kernel. Kernels that are compiled with HIRGEN_CPU_ACCESSES call the
// device at each memory access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "log/log.hpp"

namespace hirgen_cpu {

/// Records the accesses of this thread, from construction until operands() or destruction.
class Accesses {
 public:
  Accesses();
  ~Accesses();
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  void add(uintptr_t at, size_t bytes, bool write);
  /// Ends the recording. Returns the accessed runs of bytes in memory of the device: first the
  /// reads, then the writes.
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
