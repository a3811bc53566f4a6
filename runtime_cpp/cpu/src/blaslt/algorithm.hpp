// The content of cublasLtMatmulAlgo_t: the id of one of four algorithms, the workspace that it
// needs, and the alignments for which the heuristic chose it. cublasLtMatmul refuses a
// smaller workspace or alignment.
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
  uint32_t alignment[4];  ///< required of the pointers to A, B, C and D, in bytes; 0: any
  int32_t id;             ///< 0 to 3
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

inline Algorithm open(const cublasLtMatmulAlgo_t& algo) {
  Algorithm algorithm;
  memcpy(&algorithm, &algo, sizeof algorithm);
  return algorithm;
}

/// Returns whether this is a valid algorithm. It may have been read from an untrusted file.
bool is_algorithm(const Algorithm& algorithm);

/// The tiling of the algorithm.
Tiling tiling_of(const Algorithm& algorithm);

/// The processor time that the algorithm uses in addition to its GEMM.
std::chrono::milliseconds extra_of(const Algorithm& algorithm);

}  // namespace hirgen_cpu
