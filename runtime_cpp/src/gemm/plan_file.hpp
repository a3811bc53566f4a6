// Files of chosen algorithms in JSON: --tune writes them (and keeps other choices of an existing
// file), and --plans reads them:
//
//   { "hirgen_plans": 3,
//     "choices": [
//       { "gemm": "C[1024, 8192] = A[1024, 8192] B[8192, 8192], bf16",
//         "gpu": "NVIDIA H200", "library": "cuBLASLt", "version": 130002,
//         "algorithm": "4200000014000000...",
//         "workspace_bytes": 0,
//         "attributes": { "id": 66, ... },
//         "measured": { "program": "ag_matmul", "ranks": 8, "candidates": 24,
//                       "default_us": 1702.3, "us": 1648.1 } } ] }
//
// The algorithm's bytes are valid only for this version of the library on this GPU model.
// "workspace_bytes", "attributes" and "measured" are required, but only inform people.
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
  double default_seconds = 0;  ///< time of a call with the first candidate, on the slowest rank
  double seconds = 0;          ///< time of a call with the choice, on the slowest rank
};

/// The algorithm of one GEMM on one GPU model, of one version of a library.
struct PlanChoice {
  std::string gemm;  ///< its shape as text, from describe()
  AlgorithmScope scope;
  std::string bytes;  ///< the algorithm: GemmAlgorithm::bytes
  int64_t workspace_bytes = 0;
  AlgorithmAttributes attributes;
  PlanMeasurement measured;

  /// Whether a file may have only one of the two choices: both are for the same GEMM and GPU model,
  /// and not for two versions of one library.
  bool rivals(const PlanChoice& other) const {
    return gemm == other.gemm && scope.gpu == other.scope.gpu &&
           (scope.library != other.scope.library || scope.version == other.scope.version);
  }
};

/// Reads a file. Throws Error(kEnvironment) with the file's name, and "line:column" if its content
/// is wrong.
std::vector<PlanChoice> read_plans(const std::string& path);

/// Parses the choices in `text`. Throws like read_plans(), with `name` as the file's name.
std::vector<PlanChoice> parse_plans(const std::string& name, const std::string& text);

/// The text of a file that read_plans() can read.
std::string plans_text(const std::vector<PlanChoice>& choices);

/// Adds each choice of `fresh` to `choices`: in the place of its rivals, or at the end if there are
/// none.
void merge_plans(std::vector<PlanChoice>* choices, const std::vector<PlanChoice>& fresh);

}  // namespace hirgen
