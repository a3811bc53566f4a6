// The content of cublasLtMatmulAlgo_t: one of a few orders of multiplication, and the preferences
// of the heuristic's call. A GEMM with the algorithm must match them.
#pragma once

#include <cublasLt.h>

#include <chrono>
#include <cstdint>
#include <cstring>

#include "blaslt/gemm.hpp"

namespace hirgen_cpu {

struct Algorithm {
  uint64_t magic;
  uint64_t workspace_bytes;
  uint32_t alignment[4];  ///< bytes that the pointers to A, B, C and D are multiples of
  int32_t id;             ///< 0 to 3
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

inline Algorithm open(const cublasLtMatmulAlgo_t& algo) {
  Algorithm algorithm;
  memcpy(&algorithm, &algo, sizeof algorithm);
  return algorithm;
}

/// Whether this is a valid algorithm; its bytes may come from a file.
bool is_algorithm(const Algorithm& algorithm);

/// The order of its multiplications.
Tiling tiling_of(const Algorithm& algorithm);

/// Its time in addition to its work.
std::chrono::milliseconds extra_of(const Algorithm& algorithm);

}  // namespace hirgen_cpu
