// Records the memory accesses of a kernel. With HIRGEN_CPU_ACCESSES=1, all kernels except the
// reference's are compiled with -fsanitize=thread, and call a function of accesses.cpp at each
// access.
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
  /// Ends the recording. Returns the accessed runs of bytes that begin in registered memory
  /// (find_allocation()): first the reads, then the writes, each sorted by address.
  std::vector<LoggedOperand> operands();

 private:
  struct Run {
    uintptr_t begin, end;
  };
  static void merge(std::vector<Run>& runs);
  std::vector<Run> runs_[2];  ///< [0]: reads, [1]: writes
  size_t merge_at_[2] = {1024, 1024};
};

}  // namespace hirgen_cpu
