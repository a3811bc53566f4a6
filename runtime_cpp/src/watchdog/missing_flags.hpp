// The peers that have not set the flags that a call waits for.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/flag_waits.hpp"

namespace hirgen {

/// The ranks that a call waits for, because they have not set their flags of one tensor.
struct MissingFlags {
  std::string name;
  std::string where;
  bool done = false;  ///< the done flags are missing; false: the ready flags
  std::vector<int64_t> ranks;
  std::vector<int64_t> rows;  ///< the rows of a RowExchange that are missing; empty without rows
};

/// Adds the missing flags of a buffer for call `call`, which is incomplete, to `missing`. Reads the
/// flags on `stream`, and waits for the read.
void find_missing_flags(FlagWaits& waits, int64_t call, cudaStream_t stream,
                        std::vector<MissingFlags>* missing);

}  // namespace hirgen
