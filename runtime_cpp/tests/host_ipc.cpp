// Shared memory on several ranks: transfers by get and by put as emitted programs write them,
// pointers that change between calls, and what is said where memory cannot be shared.
#include <cstdlib>
#include <string>

#include "hirgen/ipc.hpp"
#include "hirgen/reference.hpp"
#include "host_test.hpp"
#include "host_test_ranks.hpp"
#include "ipc_reach.hpp"
#include "text.hpp"

namespace hirgen {
namespace {

using test::Ended;
using test::kWorld;
using test::run_ranks;

constexpr int64_t kColumns = 96;
constexpr const char* kWhere = "gather.yaml:1:1 transfer";
constexpr const char* kSharing = "gather.yaml:1:1 sharing A with the other ranks";

bool chosen(const char* variable) { return std::getenv(variable) != nullptr; }

/// C = allgather(A), step s at distance s, through a buffer of the program that peers read
/// (get of A) or write (put into it).
class Gather final : public Program {
 public:
  explicit Gather(Context& context) : context_(context) {
    if (chosen("GATHER_PINNED")) {
      HG_CHECK(cudaMallocHost(&all_, kWorld * kColumns * sizeof(float)), kWhere);
    }
    if (put_) peers_.share(all_, shape_);
  }

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    const auto* a = static_cast<const float*>(tensors[0]);
    if (chosen("GATHER_COPIES")) a = copy_of(a, caller);
    const Shared& shared = put_ ? peers_.begin_call(all_, shape_) : peers_.begin_call(a, shape_);
    const int me = context_.rank();
    HG_CHECK(cudaMemcpyAsync(all_ + me * kColumns, a, kBytes, cudaMemcpyDeviceToDevice, caller),
             kWhere);
    for (int step = 1; step < kWorld; ++step) {
      const int to = (me + kWorld - step) % kWorld;
      const int from = (me + step) % kWorld;
      // The owner lends; the copier copies on the stream of copies and says so.
      lend(shared, put_ ? from : to, step, caller);
      HG_CHECK(cudaEventRecord(ready_[step], caller), kWhere);
      HG_CHECK(cudaStreamWaitEvent(peers_.copies(), ready_[step], 0), kWhere);
      await(shared.lent(step), shared, peers_.copies());
      if (put_) {
        copy(shared.of<float>(to) + me * kColumns, a);
      } else {
        copy(all_ + from * kColumns, shared.of<float>(from));
      }
      signal(shared.copied_at(put_ ? to : from, step), shared, peers_.copies());
      HG_CHECK(cudaEventRecord(done_[step], peers_.copies()), kWhere);
      await(shared.copied(step), shared, caller);
      HG_CHECK(cudaStreamWaitEvent(caller, done_[step], 0), kWhere);
    }
    HG_CHECK(cudaMemcpyAsync(tensors[1], all_, kWorld * kBytes, cudaMemcpyDeviceToDevice, caller),
             kWhere);
    context_.call_issued(caller);
  }

 private:
  static constexpr size_t kBytes = kColumns * sizeof(float);

  /// The caller's data in one of two buffers in turn, as callers with several have it.
  const float* copy_of(const float* a, cudaStream_t caller) {
    float*& turn = copies_[calls_++ % 2];
    if (turn == nullptr) turn = context_.allocate<float>(kColumns, "A", kWhere);
    HG_CHECK(cudaMemcpyAsync(turn, a, kBytes, cudaMemcpyDeviceToDevice, caller), kWhere);
    return turn;
  }
  void lend(const Shared& shared, int peer, int step, cudaStream_t stream) {
    signal(shared.lent_at(peer, step), shared, stream);
  }
  void signal(CUdeviceptr word, const Shared& shared, cudaStream_t stream) {
    HG_CHECK(peers_.memory().cuStreamWriteValue32(stream, word, shared.call(), 0), kWhere);
  }
  void await(CUdeviceptr word, const Shared& shared, cudaStream_t stream) {
    HG_CHECK(
        peers_.memory().cuStreamWaitValue32(stream, word, shared.call(), CU_STREAM_WAIT_VALUE_GEQ),
        kWhere);
  }
  void copy(float* to, const float* from) {
    HG_CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, peers_.copies()), kWhere);
  }

  Context& context_;
  const bool put_ = chosen("GATHER_PUT");
  Peers peers_{context_, "gather.yaml"};
  float* all_ = context_.allocate<float>(kWorld * kColumns, "A_all", kWhere);
  const SharedShape shape_{put_ ? kWorld * kBytes : kBytes, kWorld, put_ ? "A_all" : "A", kSharing};
  Events ready_ = context_.events("ready", kWhere, kWorld);
  Events done_ = context_.events("done", kWhere, kWorld);
  float* copies_[2] = {nullptr, nullptr};
  int64_t calls_ = 0;
};

std::vector<TensorDesc> gather_tensors(int rank) {
  TensorDesc a;
  a.name = "A";
  a.axes = {{kWorld, kWorld, rank}, {kColumns, 1, 0}};
  a.where = "gather.yaml:1:1";
  TensorDesc c = a;
  c.name = "C";
  c.axes[0] = {kWorld, 1, 0};
  c.output = true;
  return {a, c};
}

ProgramTable gather_table() {
  ProgramTable table;
  table.info.name = "gather";
  table.info.spec = "gather.yaml";
  table.info.digest = "d0";
  table.info.mesh_size = kWorld;
  table.info.bytes = kWorld * kColumns * 4;
  table.info.communication = "allgather";
  table.tensors = gather_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Gather>(context);
  };
  table.reference = [](Reference& model) { model.set("C", "A"); };
  return table;
}

void expect_right(test::Environment environment) {
  for (const char* seed : {"0", "1", "2", "3", "4", "5"}) {
    environment["HIRGEN_CPU_SEED"] = seed;
    for (const Ended& rank :
         run_ranks({"--checks", "20", "--iters", "5", "--repeats", "1", "--timeout", "10"},
                   environment)) {
      HG_EXPECT_EQ(rank.code, 0);
      HG_EXPECT_EQ(rank.err, "");
    }
  }
}

HG_TEST(get_brings_each_calls_data) { expect_right({}); }

HG_TEST(put_brings_each_calls_data) { expect_right({{"GATHER_PUT", "1"}}); }

HG_TEST(callers_may_change_their_pointers) { expect_right({{"GATHER_COPIES", "1"}}); }

// A rank that changes its pointer alone comes to an exchange that the others do not come to.
HG_TEST(ranks_that_change_pointers_at_different_times_are_told) {
  const auto ended = run_ranks({"--checks", "3", "--timeout", "1"}, {{"GATHER_COPIES@1", "1"}});
  bool told = false;
  for (const Ended& rank : ended) {
    HG_EXPECT(rank.code == 5 || rank.code == 6 || rank.code == 7);
    told = told || rank.err.find("sharing A with the other ranks") != std::string::npos;
  }
  HG_EXPECT(told);
}

HG_TEST(memory_that_cannot_be_shared_is_named_on_every_rank) {
  const auto ended = run_ranks({"--timeout", "2"}, {{"GATHER_PUT", "1"}, {"GATHER_PINNED@1", "1"}});
  for (const Ended& rank : ended) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, "the memory of A_all cannot be shared");
    HG_EXPECT_CONTAINS(rank.err, "transport: nccl");
  }
}

HG_TEST(obstacles_are_told_apart) {
  char own[32] = "";
  char other[32] = "";
  HG_CHECK(cudaDeviceGetPCIBusId(own, sizeof(own), 0), "test");
  HG_CHECK(cudaDeviceGetPCIBusId(other, sizeof(other), 1), "test");
  const Place mine{"node1", "boot1", own};
  HG_EXPECT_EQ(obstacle(mine, 0, {"container2", "boot1", other}), "");
  HG_EXPECT_CONTAINS(obstacle(mine, 0, {"node2", "boot2", other}), "node1 and node2");
  HG_EXPECT_CONTAINS(obstacle(mine, 0, {"node1", "boot1", "0000:77:00.0"}),
                     "0000:77:00.0 is hidden");
  HG_EXPECT_CONTAINS(obstacle(mine, 0, mine), "one GPU");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  return hirgen::run_main(argc - 1, argv + 1, hirgen::gather_table());
}
