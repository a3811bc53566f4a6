// Tests of --tune and --plans on whole programs of several ranks. Every rank is this program,
// started again. HIRGEN_CPU_ALGORITHMS lists the algorithms that cuBLASLt's heuristic offers (3 is
// slow).
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/json.hpp"
#include "base/text.hpp"
#include "gemm/plan_file.hpp"
#include "hirgen/abi.hpp"
#include "hirgen/matmul.hpp"
#include "test.hpp"
#include "test_chain.hpp"

namespace hirgen {
namespace {

using test::chain_table;
using test::Ended;
using test::Environment;
using test::kFirst;
using test::kWorld;
using test::Paths;
using test::run_ranks;
using test::run_well;

void expect_plan(const JsonValue& plan, const char* source, int id) {
  HG_EXPECT_EQ(plan.find("source")->text, source);
  HG_EXPECT_EQ(plan.find("attributes")->find("id")->number, static_cast<double>(id));
}

void expect_tuned(const Environment& environment) {
  const Paths paths;
  for (const JsonValue& plan : run_well(paths, {"--tune", "--plans", paths.plans}, environment)) {
    expect_plan(plan, "tuned", 0);
    HG_EXPECT_EQ(plan.find("candidates")->number, 2.0);
    HG_EXPECT(plan.find("us")->number < plan.find("default_us")->number);
  }
  const std::vector<PlanChoice> choices = read_plans(paths.plans);
  HG_EXPECT_EQ(choices.size(), 2U);
  HG_EXPECT_EQ(choices.front().gemm, describe(kFirst));
  HG_EXPECT_EQ(choices.front().measured.program, "chain");
  HG_EXPECT_EQ(choices.front().measured.ranks, kWorld);
  for (const JsonValue& plan : run_well(paths, {"--plans", paths.plans}, environment)) {
    expect_plan(plan, "file", 0);
    HG_EXPECT_EQ(plan.find("algorithm")->text, hex_of(choices.front().bytes));
  }
  // A program without --plans ignores a file of choices.
  for (const JsonValue& plan : run_well(paths, {}, environment)) {
    expect_plan(plan, "heuristic", 3);
    HG_EXPECT(plan.find("candidates") == nullptr);
  }
}

HG_TEST(a_slow_first_guess_is_found_out_and_the_file_spares_the_next_run_the_search) {
  expect_tuned({{"HIRGEN_CPU_ALGORITHMS", "3,0"}});
}

HG_TEST(graphs_are_captured_anew_for_each_candidate) {
  expect_tuned({{"HIRGEN_CPU_ALGORITHMS", "3,0"}, {"CHAIN_GRAPH", "1"}});
}

HG_TEST(ranks_time_the_candidates_that_all_of_them_have) {
  const Paths paths;
  const auto plans = run_well(paths, {"--tune", "--plans", paths.plans},
                              {{"HIRGEN_CPU_ALGORITHMS", "3,1,0,2"},
                               {"HIRGEN_CPU_ALGORITHMS@1", "0,3"},
                               {"HIRGEN_CPU_ALGORITHMS@2", "2,3,0"}});
  for (const JsonValue& plan : plans) {
    expect_plan(plan, "tuned", 0);
    HG_EXPECT_EQ(plan.find("candidates")->number, 2.0);
  }
}

HG_TEST(ranks_without_a_common_candidate_keep_their_own) {
  const Paths paths;
  const auto plans = run_well(paths, {"--tune", "--plans", paths.plans},
                              {{"HIRGEN_CPU_ALGORITHMS", "0,1"}, {"HIRGEN_CPU_ALGORITHMS@1", "2"}});
  for (const JsonValue& plan : plans) expect_plan(plan, "heuristic", 0);
  HG_EXPECT_EQ(test::read_file(paths.plans), "");
}

/// The choices of a run that had only algorithm 1. The run is made once, because it is slow.
const std::vector<PlanChoice>& choices_of_one() {
  static const std::vector<PlanChoice> choices = [] {
    const Paths paths;
    run_well(paths, {"--tune", "--plans", paths.plans}, {{"HIRGEN_CPU_ALGORITHMS", "1"}});
    return read_plans(paths.plans);
  }();
  return choices;
}

/// Writes a file with a choice of algorithm 1 for the first GEMM, changed by `change`.
template <typename Change>
void write_choice_of_one(const Paths& paths, const Change& change) {
  PlanChoice choice = choices_of_one().front();
  change(choice);
  paths.write_plans(plans_text({choice}));
}

HG_TEST(what_the_file_holds_for_others_stays_in_it) {
  const Paths paths;
  write_choice_of_one(paths, [](PlanChoice& choice) { choice.scope.gpu = "NVIDIA X"; });
  run_well(paths, {"--tune", "--plans", paths.plans}, {{"HIRGEN_CPU_ALGORITHMS", "2"}});
  const std::vector<PlanChoice> choices = read_plans(paths.plans);
  HG_EXPECT_EQ(choices.size(), 3U);
  HG_EXPECT_EQ(choices[0].scope.gpu, "NVIDIA X");
  HG_EXPECT_EQ(attributes_text(choices[0].attributes).substr(0, 5), "id 1 ");
  HG_EXPECT_EQ(attributes_text(choices[1].attributes).substr(0, 5), "id 2 ");
}

HG_TEST(a_choice_that_cannot_be_taken_is_ignored_in_one_line) {
  const auto ignored = [](auto change) {
    const Paths paths;
    write_choice_of_one(paths, change);
    std::string err;
    for (const JsonValue& plan : run_well(paths, {"--plans", paths.plans}, {}, &err)) {
      expect_plan(plan, "heuristic", 0);
    }
    HG_EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1);
    HG_EXPECT_CONTAINS(err, "ignoring the choice for " + describe(kFirst));
    HG_EXPECT_CONTAINS(err, "(rank 0-2)");
    return err;
  };
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.scope.gpu = "NVIDIA X"; }),
                     "it is for NVIDIA X, cuBLASLt 130000, and this is hirgen CPU device");
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.scope.version = 120900; }),
                     "it is for hirgen CPU device, cuBLASLt 120900, and this is");
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.bytes = std::string(64, '\0'); }),
                     "cuBLASLt refuses it");
}

HG_TEST(a_corrupt_file_ends_every_rank) {
  const Paths paths;
  paths.write_plans("{\"hirgen_plans\": 3,\n \"choices\": [}");
  for (const Ended& rank : run_ranks({"--plans", paths.plans, "--timeout", "5"})) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, paths.plans + ":2:14: no value");
  }
  // With --tune, only rank 0 reads the file, to write it again.
  const auto ended = run_ranks({"--tune", "--plans", paths.plans, "--timeout", "5"});
  HG_EXPECT_EQ(ended[0].code, 3);
  HG_EXPECT_CONTAINS(ended[1].err, paths.plans + ":2:14: no value");
}

/// Creates and destroys a handle like a host program, with the file CHAIN_PLANS as the option
/// `plans`. Returns the code.
int run_embedded() {
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.plans = std::getenv("CHAIN_PLANS");
  hirgen_handle* handle = nullptr;
  const int code = abi_create(chain_table(), &options, &handle);
  if (code != HIRGEN_OK) std::fprintf(stderr, "%s\n", abi_last_error(nullptr));
  return handle == nullptr ? code : abi_destroy(handle);
}

HG_TEST(a_host_program_gives_the_file_as_an_option) {
  const Paths paths;
  paths.write_plans(plans_text(choices_of_one()));
  const Environment environment{{"CHAIN_PLANS", paths.plans}, {"CHAIN_SHOW", "1"}};
  for (const Ended& rank : run_ranks({"--embedded"}, environment)) {
    HG_EXPECT_EQ(rank.code, 0);
    HG_EXPECT_EQ(rank.err, "file\nfile\n");
  }
  write_choice_of_one(paths, [](PlanChoice& choice) { choice.scope.gpu = "NVIDIA X"; });
  for (const Ended& rank : run_ranks({"--embedded"}, environment)) {
    HG_EXPECT_CONTAINS(rank.err, "heuristic\nheuristic\nhirgen: " + paths.plans);
  }
  paths.write_plans("{");
  for (const Ended& rank : run_ranks({"--embedded"}, environment)) {
    HG_EXPECT_EQ(rank.code, HIRGEN_ENVIRONMENT);
    HG_EXPECT_CONTAINS(rank.err, paths.plans + ":1:2: ");
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  if (argc > 2 && std::string(argv[2]) == "--embedded") return hirgen::run_embedded();
  return hirgen::run_main(argc - 1, argv + 1, hirgen::test::chain_table());
}
