// Tests of an all-gather by UCC on a team of some of the ranks, and of the errors of calls that UCC
// refuses or that differ between ranks.
#include "hirgen/ucc.hpp"

#include <string>

#include "hirgen/mesh.hpp"
#include "hirgen/reference.hpp"
#include "test.hpp"
#include "test_ranks.hpp"

namespace hirgen {
namespace {

using test::chosen;
using test::Ended;
using test::expect_right;
using test::kWorld;
using test::run_ranks;

constexpr int64_t kColumns = 96;
constexpr const char* kWhere = "pair.yaml:1:1 allgather";

const Mesh pair({2}, {2, 0});

/// C = allgather(A) on ranks 2 and 0, in place; rank 1 is in no team.
class Pair final : public Program {
 public:
  explicit Pair(Context& context) : context_(context) {}

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    if (team_.rank >= 0) gather(caller, tensors);
    context_.call_issued(caller);
  }

 private:
  void gather(cudaStream_t caller, const std::vector<void*>& tensors) {
    auto* c = static_cast<float*>(tensors[1]);
    float* mine = c + team_.rank * kColumns;
    HG_CHECK(cudaMemcpyAsync(mine, tensors[0], kColumns * sizeof(float), cudaMemcpyDeviceToDevice,
                             caller),
             kWhere);
    const int64_t count = chosen("PAIR_COUNT") ? kColumns / 2 : kColumns;
    const auto type = chosen("PAIR_TYPE") ? ucc_datatype_t{1} : UCC_DT_FLOAT32;
    team_.post({.type = UCC_COLL_TYPE_ALLGATHER}, mine, c, count, type, caller, kWhere);
  }

  Context& context_;
  Ucc ucc_{context_, "pair.yaml"};
  UccTeam team_{ucc_, pair.team(context_.rank()), kWhere};
};

std::vector<TensorDesc> pair_tensors(int rank) {
  TensorDesc a;
  a.name = "A";
  a.axes = {{2, 2, pair.coordinate(rank, 0)}, {kColumns, 1, 0}};
  a.where = "pair.yaml:1:1";
  a.present = pair.holds(rank);
  TensorDesc c = a;
  c.name = "C";
  c.axes[0] = {2, 1, 0};
  c.output = true;
  return {a, c};
}

ProgramTable pair_table() {
  ProgramTable table;
  table.info.name = "pair";
  table.info.spec = "pair.yaml";
  table.info.digest = "d0";
  table.info.mesh_size = kWorld;
  table.info.bytes = 2 * kColumns * static_cast<int64_t>(sizeof(float));
  table.info.largest = "allgather";
  table.tensors = pair_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Pair>(context);
  };
  table.reference = [](Reference& model) { model.set("C", "A"); };
  return table;
}

/// Expects that all ranks end with an error. Returns whether a rank prints `text`.
bool some_rank_says(const test::Environment& environment, const std::string& text) {
  bool said = false;
  for (const Ended& rank : run_ranks({"--timeout", "5"}, environment)) {
    HG_EXPECT(rank.code != 0);
    said = said || rank.err.find(text) != std::string::npos;
  }
  return said;
}

HG_TEST(a_team_gathers_in_place) { expect_right({}); }

HG_TEST(a_call_that_ucc_refuses_is_named) {
  HG_EXPECT(some_rank_says({{"PAIR_TYPE", "1"}},
                           "pair.yaml:1:1 allgather: UCC: Operation is not supported"));
}

HG_TEST(ranks_with_different_calls_are_told) {
  HG_EXPECT(some_rank_says({{"PAIR_COUNT@2", "1"}}, "ncclAllGather("));
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  return hirgen::run_main(argc - 1, argv + 1, hirgen::pair_table());
}
