// --tune and --plans on whole programs of several ranks. Every rank is this program, started
// again; HIRGEN_CPU_ALGORITHMS says what cuBLASLt's heuristic offers it (3 is slow).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "gemm/plan_file.hpp"
#include "hirgen/abi.hpp"
#include "hirgen/graph.hpp"
#include "hirgen/matmul.hpp"
#include "hirgen/reference.hpp"
#include "test.hpp"
#include "test_ranks.hpp"

namespace hirgen {
namespace {

using test::Ended;
using test::Environment;
using test::kWorld;
using test::run_ranks;
using test::scratch;

constexpr int64_t kRows = 16;  // of a rank
constexpr int64_t kDepth = 64, kMiddle = 48, kWidth = 32;

constexpr MatmulShape kFirst = {
    .m = kWorld * kRows, .n = kMiddle, .k = kDepth, .dtype = DType::kFp32};
constexpr MatmulShape kSecond = {
    .m = kWorld * kRows, .n = kWidth, .k = kMiddle, .dtype = DType::kFp32};

constexpr const char* kWhere = "chain.yaml:3:3";

/// C = (allgather(A) B) W, with a CUDA graph if CHAIN_GRAPH is set. With CHAIN_SHOW it says on
/// standard error where the algorithms of its plans come from.
class Chain final : public Program {
 public:
  explicit Chain(Context& context) : context_(context), team_(context.team({0, 1, 2}, kWhere)) {
    if (std::getenv("CHAIN_SHOW") == nullptr) return;
    for (const MatmulPlan* plan : {&first_, &second_}) {
      std::fprintf(stderr, "%s\n", plan->source == PlanSource::kFile ? "file" : "heuristic");
    }
  }

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    if (std::getenv("CHAIN_GRAPH") != nullptr) {
      graphs_.launch(caller, tensors, [&](cudaStream_t stream) { issue(stream, tensors); });
    } else {
      issue(caller, tensors);
    }
    context_.call_issued(caller);
  }

 private:
  void issue(cudaStream_t stream, const std::vector<void*>& tensors) {
    HG_CHECK(cudaEventRecord(ready_[0], stream), kWhere);
    HG_CHECK(cudaStreamWaitEvent(team_.stream, ready_[0], 0), kWhere);
    HG_CHECK(ncclAllGather(tensors[0], all_, kRows * kDepth, ncclFloat32, team_.comm, team_.stream),
             kWhere);
    HG_CHECK(cudaEventRecord(gathered_[0], team_.stream), kWhere);
    HG_CHECK(cudaStreamWaitEvent(stream, gathered_[0], 0), kWhere);
    multiply(first_, all_, tensors[1], middle_, stream);
    multiply(second_, middle_, tensors[2], tensors[3], stream);
  }

  void multiply(const MatmulPlan& plan, const void* a, const void* b, void* c,
                cudaStream_t stream) {
    HG_CHECK(
        cublasLtMatmul(context_.cublas(), plan.op, &kOne, b, plan.b, a, plan.a, &kZero, c, plan.c,
                       c, plan.c, &plan.algo, workspace_, plan.workspace_bytes, stream),
        kWhere);
  }

  Context& context_;
  Team& team_;
  MatmulPlan first_{context_, kFirst, kWhere}, second_{context_, kSecond, kWhere};
  Events ready_ = context_.events("ready", kWhere, 1);
  Events gathered_ = context_.events("gathered", kWhere, 1);
  float* all_ = context_.allocate<float>(kWorld * kRows * kDepth, "A_all");
  float* middle_ = context_.allocate<float>(kWorld * kRows * kMiddle, "middle");
  void* workspace_ = context_.allocate(kWorkspaceBytes, "workspace");
  GraphCache graphs_{kWhere};
};

std::vector<TensorDesc> chain_tensors(int rank) {
  const auto tensor = [](const char* name, std::vector<Axis> axes) {
    TensorDesc desc;
    desc.name = name;
    desc.axes = std::move(axes);
    desc.where = kWhere;
    desc.contraction = kDepth * kMiddle;
    return desc;
  };
  TensorDesc a = tensor("A", {{kWorld * kRows, kWorld, rank}, {kDepth, 1, 0}});
  TensorDesc b = tensor("B", {{kDepth, 1, 0}, {kMiddle, 1, 0}});
  TensorDesc w = tensor("W", {{kMiddle, 1, 0}, {kWidth, 1, 0}});
  TensorDesc c = tensor("C", {{kWorld * kRows, 1, 0}, {kWidth, 1, 0}});
  c.output = true;
  return {a, b, w, c};
}

ProgramTable chain_table() {
  ProgramTable table;
  table.info.name = "chain";
  table.info.spec = "chain.yaml";
  table.info.digest = "d0";
  table.info.mesh_size = kWorld;
  table.info.bytes = kWorld * kRows * kDepth * 4;
  table.info.largest = "allgather";
  table.tensors = chain_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Chain>(context);
  };
  table.reference = [](Reference& model) {
    model.matmul("middle", "A", "B", DType::kFp32);
    model.matmul("C", "middle", "W", DType::kFp32);
  };
  return table;
}

/// A file of choices and a report of this test, gone when it ends.
struct Paths {
  std::string plans = scratch(9, "plans"), json = scratch(9, "json");
  ~Paths() {
    unlink(plans.c_str());
    unlink(json.c_str());
  }

  void write_plans(const std::string& text) const {
    write_file(plans, {{text.data(), text.size()}});
  }
};

/// Runs all ranks; expects that they end well and returns the "plans" of the report.
std::vector<JsonValue> run_well(const Paths& paths, std::vector<std::string> arguments,
                                const Environment& environment, std::string* err = nullptr) {
  for (const char* word : {"--json", paths.json.c_str(), "--iters", "2", "--warmup", "1",
                           "--repeats", "1", "--timeout", "20"}) {
    arguments.emplace_back(word);
  }
  const std::vector<Ended> ended = run_ranks(arguments, environment);
  for (const Ended& rank : ended) {
    HG_EXPECT_EQ(rank.code, 0);
    if (rank.code != 0) HG_EXPECT_EQ(rank.err, "");
  }
  HG_EXPECT_CONTAINS(ended[0].out, "# 0 wrong elements in 2 checked calls (exact): OK");
  HG_EXPECT_EQ(ended[1].err + ended[2].err, "");
  if (err != nullptr) *err = ended[0].err;
  const JsonValue json = parse_json(test::read_file(paths.json));
  const std::vector<JsonValue> plans = json.find("plans")->items;
  HG_EXPECT_EQ(plans.size(), 2U);
  return plans;
}

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
    HG_EXPECT_EQ(plan.find("algorithm")->text, algorithm_hex(choices.front().algorithm));
  }
  // Whatever lies beside it, a program without the option does not look.
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

/// The choices of a run that had algorithm 1 alone; made once, since it takes a while.
const std::vector<PlanChoice>& choices_of_one() {
  static const std::vector<PlanChoice> choices = [] {
    const Paths paths;
    run_well(paths, {"--tune", "--plans", paths.plans}, {{"HIRGEN_CPU_ALGORITHMS", "1"}});
    return read_plans(paths.plans);
  }();
  return choices;
}

/// A file with a choice of algorithm 1 for the first GEMM, changed by `change`.
template <typename Change>
void write_choice_of_one(const Paths& paths, const Change& change) {
  PlanChoice choice = choices_of_one().front();
  change(choice);
  paths.write_plans(plans_text({choice}));
}

HG_TEST(what_the_file_holds_for_others_stays_in_it) {
  const Paths paths;
  write_choice_of_one(paths, [](PlanChoice& choice) { choice.library.gpu = "NVIDIA X"; });
  run_well(paths, {"--tune", "--plans", paths.plans}, {{"HIRGEN_CPU_ALGORITHMS", "2"}});
  const std::vector<PlanChoice> choices = read_plans(paths.plans);
  HG_EXPECT_EQ(choices.size(), 3U);
  HG_EXPECT_EQ(choices[0].library.gpu, "NVIDIA X");
  HG_EXPECT_EQ(choices[0].attributes.id, 1);
  HG_EXPECT_EQ(choices[1].attributes.id, 2);
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
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.library.gpu = "NVIDIA X"; }),
                     "it is for NVIDIA X, cuBLASLt 130000, and this is hirgen CPU device");
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.library.cublaslt = 120900; }),
                     "it is for hirgen CPU device, cuBLASLt 120900, and this is");
  HG_EXPECT_CONTAINS(ignored([](PlanChoice& choice) { choice.algorithm = {}; }),
                     "cuBLASLt refuses it");
}

HG_TEST(a_corrupt_file_ends_every_rank) {
  const Paths paths;
  paths.write_plans("{\"hirgen_plans\": 2,\n \"choices\": [}");
  for (const Ended& rank : run_ranks({"--plans", paths.plans, "--timeout", "5"})) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, paths.plans + ":2:14: no value");
  }
  // To be written again it has to be read by rank 0 alone.
  const auto ended = run_ranks({"--tune", "--plans", paths.plans, "--timeout", "5"});
  HG_EXPECT_EQ(ended[0].code, 3);
  HG_EXPECT_CONTAINS(ended[1].err, paths.plans + ":2:14: no value");
}

/// A host program that makes a handle with CHAIN_PLANS as its file.
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
  write_choice_of_one(paths, [](PlanChoice& choice) { choice.library.gpu = "NVIDIA X"; });
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
  return hirgen::run_main(argc - 1, argv + 1, hirgen::chain_table());
}
