// Files of chosen algorithms: --tune writes them and --plans reads them. The JSON can be read,
// shipped and merged:
//
//   { "hirgen_plans": 2,
//     "choices": [
//       { "gemm": "C[1024, 8192] = A[1024, 8192] B[8192, 8192], bf16",
//         "gpu": "NVIDIA H200", "cublaslt": 130002,
//         "algorithm": "4200000014000000...",
//         "workspace_bytes": 0,
//         "attributes": { "id": 66, "tile": 20, ... },
//         "measured": { "program": "ag_matmul", "ranks": 8, "candidates": 24,
//                       "default_us": 1702.3, "us": 1648.1 } } ] }
//
// The algorithm's bytes are valid only for the same cuBLASLt on the same GPU model, so both belong
// to the key. "attributes" and "measured" are for readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/algorithm.hpp"

namespace hirgen {

/// The program that measured a choice, and the times.
struct PlanMeasurement {
  std::string program;
  int64_t ranks = 0;
  int64_t candidates = 0;      ///< algorithms that were timed
  double default_seconds = 0;  ///< a call with the heuristic's first, on the slowest rank
  double seconds = 0;          ///< a call with the choice
};

/// The algorithm of one GEMM on one GPU model with one cuBLASLt.
struct PlanChoice {
  std::string gemm;  ///< describe() of its shape
  Library library;
  cublasLtMatmulAlgo_t algorithm{};
  int64_t workspace_bytes = 0;
  AlgorithmAttributes attributes;
  PlanMeasurement measured;

  /// Whether both are for the same GEMM, GPU model and cuBLASLt.
  bool rivals(const PlanChoice& other) const {
    return gemm == other.gemm && library == other.library;
  }
};

/// Reads a file. Throws Error(kEnvironment) with the file's name, and "line:column" if its content
/// is wrong.
std::vector<PlanChoice> read_plans(const std::string& path);

/// Parses the choices in `text`; errors call it `name`.
std::vector<PlanChoice> parse_plans(const std::string& name, const std::string& text);

/// The text of a file that read_plans() can read.
std::string plans_text(const std::vector<PlanChoice>& choices);

/// Replaces the rival of each of `fresh`, or appends it if it has no rival.
void merge_plans(std::vector<PlanChoice>* choices, const std::vector<PlanChoice>& fresh);

}  // namespace hirgen
