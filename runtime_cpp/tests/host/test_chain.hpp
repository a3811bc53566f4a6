// A program of two GEMMs as emit would write it, for tests of --tune, --plans and GEMM libraries.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "hirgen/matmul.hpp"
#include "hirgen/program.hpp"
#include "test_ranks.hpp"

namespace hirgen::test {

constexpr int64_t kRows = 16;  // rows of A on each rank
constexpr int64_t kDepth = 64, kMiddle = 48, kWidth = 32;

constexpr MatmulShape kFirst = {
    .m = kWorld * kRows, .n = kMiddle, .k = kDepth, .dtype = DType::kFp32};
constexpr MatmulShape kSecond = {
    .m = kWorld * kRows, .n = kWidth, .k = kMiddle, .dtype = DType::kFp32};

/// C = (allgather(A) B) W, with a CUDA graph if CHAIN_GRAPH is set. With CHAIN_SHOW, the program
/// prints the sources of its plans' algorithms on standard error.
ProgramTable chain_table();

/// The paths of a file of choices and of a report. The destructor removes the files.
struct Paths {
  std::string plans = scratch(9, "plans"), json = scratch(9, "json");
  ~Paths();
  void write_plans(const std::string& text) const;
};

/// Runs all ranks, expects that they succeed, and returns the two "plans" of the report. `err`
/// receives rank 0's standard error.
std::vector<JsonValue> run_well(const Paths& paths, std::vector<std::string> arguments,
                                const Environment& environment, std::string* err = nullptr);

}  // namespace hirgen::test
