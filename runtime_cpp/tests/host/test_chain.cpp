#include "test_chain.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/files.hpp"
#include "hirgen/graph.hpp"
#include "hirgen/reference.hpp"
#include "test.hpp"

namespace hirgen::test {

namespace {

constexpr const char* kWhere = "chain.yaml:3:3";

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

}  // namespace

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

Paths::~Paths() {
  unlink(plans.c_str());
  unlink(json.c_str());
}

void Paths::write_plans(const std::string& text) const {
  write_file(plans, {{text.data(), text.size()}});
}

std::vector<JsonValue> run_well(const Paths& paths, std::vector<std::string> arguments,
                                const Environment& environment, std::string* err) {
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

}  // namespace hirgen::test
