// Tests of memory that only some ranks share: they exchange handles without the other ranks, also
// if the caller's pointers change between calls.
#include <string>

#include "hirgen/ipc.hpp"
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
constexpr size_t kBytes = kColumns * sizeof(float);
constexpr const char* kWhere = "pair.yaml:1:1 transfer";
constexpr const char* kSharing = "pair.yaml:1:1 sharing A with the other ranks along x";

const Mesh pair({2}, {2, 0});
constexpr SharedShape kShape{
    .bytes = kBytes, .transfers = 1, .name = "A", .where = kSharing, .mesh = &pair};

/// C = allgather(A) on ranks 2 and 0, which get each other's shard; rank 1 does nothing.
class Pair final : public Program {
 public:
  explicit Pair(Context& context) : context_(context) {}

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    if (pair.holds(context_.rank())) exchange(caller, tensors);
    context_.call_issued(caller);
  }

 private:
  void exchange(cudaStream_t caller, const std::vector<void*>& tensors) {
    const auto* a = static_cast<const float*>(tensors[0]);
    auto* c = static_cast<float*>(tensors[1]);
    if (chosen("PAIR_COPIES")) a = copy_of(a, caller);
    const Shared& shared = peers_.share_for_call(a, kShape);
    const int me = pair.coordinate(context_.rank(), 0);
    const int peer = pair.ranks()[static_cast<size_t>(1 - me)];
    const StreamMemory& driver = peers_.memory();
    const auto copy = [&](float* to, const float* from) {
      HG_CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, caller), kWhere);
    };
    copy(c + me * kColumns, a);
    HG_CHECK(driver.cuStreamWriteValue32(caller, shared.ready_at(peer, 0), shared.sequence(), 0),
             kWhere);
    await(caller, shared.ready(0), shared);
    copy(c + (1 - me) * kColumns, shared.of<float>(peer));
    HG_CHECK(driver.cuStreamWriteValue32(caller, shared.done_at(peer, 0), shared.sequence(), 0),
             kWhere);
    await(caller, shared.done(0), shared);
  }

  void await(cudaStream_t stream, CUdeviceptr flag, const Shared& shared) {
    HG_CHECK(peers_.memory().cuStreamWaitValue32(stream, flag, shared.sequence(),
                                                 CU_STREAM_WAIT_VALUE_GEQ),
             kWhere);
  }

  /// Copies A to one of three alternating buffers, like a caller whose pointers change between
  /// calls.
  const float* copy_of(const float* a, cudaStream_t caller) {
    float*& turn = copies_[calls_++ % 3];
    if (turn == nullptr) turn = context_.allocate<float>(kColumns, "A");
    HG_CHECK(cudaMemcpyAsync(turn, a, kBytes, cudaMemcpyDeviceToDevice, caller), kWhere);
    return turn;
  }

  Context& context_;
  Peers peers_{context_, "pair.yaml", {kShape}};
  float* copies_[3] = {nullptr, nullptr, nullptr};
  int64_t calls_ = 0;
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
  table.info.bytes = 2 * kBytes;
  table.info.largest = "allgather";
  table.tensors = pair_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Pair>(context);
  };
  table.reference = [](Reference& model) { model.set("C", "A"); };
  return table;
}

HG_TEST(a_pair_of_ranks_gets_each_others_data) { expect_right({}); }

HG_TEST(a_pair_of_ranks_may_change_its_pointers) { expect_right({{"PAIR_COPIES", "1"}}); }

HG_TEST(ranks_that_share_nothing_may_be_anywhere) { expect_right({{"HIRGEN_BOOT_ID@1", "far"}}); }

HG_TEST(ranks_that_share_must_reach_each_other) {
  for (const Ended& rank : run_ranks({"--timeout", "5"}, {{"HIRGEN_BOOT_ID@2", "far"}})) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, "ranks 0 and 2 cannot share memory: they are on different nodes");
  }
}

// If only one rank changes its pointer, it waits in an exchange that its peer does not join.
HG_TEST(a_rank_that_changes_its_pointer_alone_is_told) {
  bool told = false;
  for (const Ended& rank :
       run_ranks({"--checks", "4", "--timeout", "1"}, {{"PAIR_COPIES@2", "1"}})) {
    HG_EXPECT(rank.code == 5 || rank.code == 6 || rank.code == 7);
    told = told || rank.err.find("sharing A with the other ranks along x") != std::string::npos;
  }
  HG_EXPECT(told);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  return hirgen::run_main(argc - 1, argv + 1, hirgen::pair_table());
}
