// Tests of a GEMM library other than cuBLASLt in whole programs of several ranks. Every rank is
// this program, started again. The program registers the naive library unless LIBRARY_ABSENT is
// set.
#include <algorithm>
#include <cstdlib>

#include "../naive_gemm.hpp"
#include "gemm/plan_file.hpp"
#include "hirgen/program.hpp"
#include "test.hpp"
#include "test_chain.hpp"

namespace hirgen {
namespace {

using test::Environment;
using test::kFirst;
using test::Paths;
using test::run_well;

void expect_plans(const std::vector<JsonValue>& plans, const char* source, const char* library) {
  for (const JsonValue& plan : plans) {
    HG_EXPECT_EQ(plan.find("source")->text, source);
    HG_EXPECT_EQ(plan.find("library")->text, library);
  }
}

/// The choices of a search with only the naive library. The search runs once, because it is slow.
const std::vector<PlanChoice>& naive_choices() {
  static const std::vector<PlanChoice> choices = [] {
    const Paths paths;
    const auto plans =
        run_well(paths, {"--tune", "--plans", paths.plans}, {{"HIRGEN_GEMM", "naive"}});
    expect_plans(plans, "tuned", "naive");
    for (const JsonValue& plan : plans) HG_EXPECT_EQ(plan.find("candidates")->number, 2.0);
    const std::vector<PlanChoice> found = read_plans(paths.plans);
    HG_EXPECT(found.front().scope == (AlgorithmScope{"hirgen CPU device", "naive", 7}));
    return found;
  }();
  return choices;
}

/// Runs the ranks with a file of the naive library's choices.
std::vector<JsonValue> run_with_choices(const Environment& environment,
                                        std::string* err = nullptr) {
  const Paths paths;
  paths.write_plans(plans_text(naive_choices()));
  return run_well(paths, {"--plans", paths.plans}, environment, err);
}

HG_TEST(a_variable_chooses_the_library) {
  const Paths paths;
  expect_plans(run_well(paths, {}, {}), "heuristic", "cuBLASLt");
  for (const bool graph : {false, true}) {
    Environment environment{{"HIRGEN_GEMM", "naive"}};
    if (graph) environment["CHAIN_GRAPH"] = "1";
    const auto plans = run_well(paths, {}, environment);
    expect_plans(plans, "heuristic", "naive");
    HG_EXPECT_EQ(plans[0].find("algorithm")->text, hex_of("forward"));
    HG_EXPECT_EQ(plans[0].find("attributes")->find("backward")->number, 0.0);
  }
}

HG_TEST(a_search_times_the_algorithms_of_all_libraries) {
  const Paths paths;  // naive_choices() searches without a graph
  const auto plans = run_well(paths, {"--tune", "--plans", paths.plans},
                              {{"HIRGEN_CPU_ALGORITHMS", "0"}, {"CHAIN_GRAPH", "1"}});
  const std::vector<PlanChoice> choices = read_plans(paths.plans);
  HG_EXPECT_EQ(choices.size(), plans.size());
  for (size_t i = 0; i < choices.size(); ++i) {
    HG_EXPECT_EQ(plans[i].find("candidates")->number, 3.0);
    HG_EXPECT_EQ(plans[i].find("source")->text, "tuned");
    HG_EXPECT_EQ(plans[i].find("library")->text, choices[i].scope.library);
  }
}

HG_TEST(a_file_chooses_the_library) { expect_plans(run_with_choices({}), "file", "naive"); }

HG_TEST(a_choice_that_cannot_be_taken_is_ignored) {
  std::string err;
  expect_plans(run_with_choices({{"LIBRARY_ABSENT", "1"}}, &err), "heuristic", "cuBLASLt");
  HG_EXPECT_CONTAINS(err, "ignoring the choice for " + describe(kFirst) +
                              ": it is for hirgen CPU device, naive 7, and this is hirgen CPU "
                              "device, cuBLASLt 130000 (rank 0-2)");
  expect_plans(run_with_choices({{"HIRGEN_GEMM", "cuBLASLt"}}, &err), "heuristic", "cuBLASLt");
  HG_EXPECT_CONTAINS(err, ": it is of naive, and HIRGEN_GEMM=cuBLASLt (rank 0-2)");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (std::getenv("LIBRARY_ABSENT") == nullptr) {
    hirgen::gemm_libraries().push_back(&naive::library());
  }
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  return hirgen::run_main(argc - 1, argv + 1, hirgen::test::chain_table());
}
