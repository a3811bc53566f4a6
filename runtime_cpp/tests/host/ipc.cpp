// Tests of memory that ranks share: transfers by get and by put as emitted programs write them,
// pointers that change between calls, and the messages if memory cannot be shared.
#include "hirgen/ipc.hpp"

#include <string>

#include "base/text.hpp"
#include "hirgen/reference.hpp"
#include "ipc/peer_access.hpp"
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
constexpr const char* kWhere = "gather.yaml:1:1 transfer";
constexpr const char* kSharing = "gather.yaml:1:1 sharing A with the other ranks";

/// C = allgather(A) in steps; in step s, ranks at distance s exchange A. A rank copies its peer's A
/// into its own buffer all_ (get), or its own A into the peer's all_ (put). Ranks that are not IPC
/// peers exchange A over NCCL.
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
    const Shared& shared =
        put_ ? peers_.share_for_call(all_, shape_) : peers_.share_for_call(a, shape_);
    const int me = context_.rank();
    HG_CHECK(cudaMemcpyAsync(all_ + me * kColumns, a, kBytes, cudaMemcpyDeviceToDevice, caller),
             kWhere);
    for (int step = 1; step < kWorld; ++step) {
      const int to = (me + kWorld - step) % kWorld;
      const int from = (me + step) % kWorld;
      // The owner of the shared memory sets the ready flag. The copier copies on the copy stream,
      // and sets the done flag.
      const int copier = put_ ? from : to;
      const int owner = put_ ? to : from;
      if (peers_.is_ipc_peer(copier)) signal(shared.ready_at(copier, step), shared, caller);
      pass_over_nccl(a, to, from, caller);
      if (peers_.is_ipc_peer(owner)) copy_from(owner, a, shared, step, caller);
      if (peers_.is_ipc_peer(copier)) await(shared.done(step), shared, caller);
      if (peers_.is_ipc_peer(owner)) HG_CHECK(cudaStreamWaitEvent(caller, done_[step], 0), kWhere);
    }
    HG_CHECK(cudaMemcpyAsync(tensors[1], all_, kWorld * kBytes, cudaMemcpyDeviceToDevice, caller),
             kWhere);
    context_.call_issued(caller);
  }

 private:
  static constexpr size_t kBytes = kColumns * sizeof(float);

  /// Copies A to one of two alternating buffers, like a caller whose pointers change between calls.
  const float* copy_of(const float* a, cudaStream_t caller) {
    float*& turn = copies_[calls_++ % 2];
    if (turn == nullptr) turn = context_.allocate<float>(kColumns, "A");
    HG_CHECK(cudaMemcpyAsync(turn, a, kBytes, cudaMemcpyDeviceToDevice, caller), kWhere);
    return turn;
  }
  /// Copies from or into the buffer of `owner`, after the work on the caller's stream.
  void copy_from(int owner, const float* a, const Shared& shared, int step, cudaStream_t caller) {
    HG_CHECK(cudaEventRecord(ready_[step], caller), kWhere);
    HG_CHECK(cudaStreamWaitEvent(peers_.copies(), ready_[step], 0), kWhere);
    await(shared.ready(step), shared, peers_.copies());
    if (put_) {
      copy(shared.of<float>(owner) + context_.rank() * kColumns, a);
    } else {
      copy(all_ + owner * kColumns, shared.of<float>(owner));
    }
    signal(shared.done_at(owner, step), shared, peers_.copies());
    HG_CHECK(cudaEventRecord(done_[step], peers_.copies()), kWhere);
  }
  /// Exchanges data over NCCL with those of the two peers that are not IPC peers.
  void pass_over_nccl(const float* a, int to, int from, cudaStream_t caller) {
    ncclComm_t comm = world_.comm;
    float* into = all_ + from * kColumns;
    HG_CHECK(ncclGroupStart(), kWhere);
    if (!peers_.is_ipc_peer(to))
      HG_CHECK(ncclSend(a, kColumns, ncclFloat32, to, comm, caller), kWhere);
    if (!peers_.is_ipc_peer(from)) {
      HG_CHECK(ncclRecv(into, kColumns, ncclFloat32, from, comm, caller), kWhere);
    }
    HG_CHECK(ncclGroupEnd(), kWhere);
  }
  void signal(CUdeviceptr flag, const Shared& shared, cudaStream_t stream) {
    HG_CHECK(peers_.memory().cuStreamWriteValue32(stream, flag, shared.sequence(), 0), kWhere);
  }
  void await(CUdeviceptr flag, const Shared& shared, cudaStream_t stream) {
    HG_CHECK(peers_.memory().cuStreamWaitValue32(stream, flag, shared.sequence(),
                                                 CU_STREAM_WAIT_VALUE_GEQ),
             kWhere);
  }
  void copy(float* to, const float* from) {
    HG_CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, peers_.copies()), kWhere);
  }

  Context& context_;
  const bool put_ = chosen("GATHER_PUT");
  Peers peers_{context_, "gather.yaml"};
  Team& world_ = context_.team({0, 1, 2}, kWhere);
  float* all_ = context_.allocate<float>(kWorld * kColumns, "A_all");
  const SharedShape shape_{put_ ? kWorld * kBytes : kBytes, kWorld, put_ ? "A_all" : "A", kSharing};
  Events ready_ = context_.events("ready", kWhere, kWorld);
  Events done_ = context_.events("done", kWhere, kWorld);
  float* copies_[2] = {nullptr, nullptr};
  int64_t calls_ = 0;
};

/// C = allgather(A), by NCCL only.
class GatherOverNccl final : public Program {
 public:
  explicit GatherOverNccl(Context& context) : context_(context) {}

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    HG_CHECK(ncclAllGather(tensors[0], tensors[1], kColumns, ncclFloat32, team_.comm, caller),
             kWhere);
    context_.call_issued(caller);
  }

 private:
  Context& context_;
  Team& team_ = context_.team({0, 1, 2}, kWhere);
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
  table.info.largest = "allgather";
  table.tensors = gather_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    if (chosen("GATHER_STRAYS")) return std::make_unique<GatherOverNccl>(context);
    return std::make_unique<Gather>(context);
  };
  table.reference = [](Reference& model) { model.set("C", "A"); };
  table.info.transport = chosen("GATHER_PUT") ? "ipc-put" : "ipc-get";
  if (chosen("GATHER_BOTH")) {
    table.create_across_nodes = [](Context& context) -> std::unique_ptr<Program> {
      return std::make_unique<Gather>(context);
    };
  }
  return table;
}

HG_TEST(get_brings_each_calls_data) { expect_right({}); }

HG_TEST(put_brings_each_calls_data) { expect_right({{"GATHER_PUT", "1"}}); }

HG_TEST(callers_may_change_their_pointers) { expect_right({{"GATHER_COPIES", "1"}}); }

// If only one rank changes its pointer, it waits in an exchange that no other rank joins.
HG_TEST(ranks_that_change_pointers_at_different_times_are_told) {
  const auto ended = run_ranks({"--checks", "3", "--timeout", "1"}, {{"GATHER_COPIES@1", "1"}});
  bool told = false;
  for (const Ended& rank : ended) {
    HG_EXPECT(rank.code == 5 || rank.code == 6 || rank.code == 7);
    told = told || rank.err.find("sharing A with the other ranks") != std::string::npos;
  }
  HG_EXPECT(told);
}

// Rank 1 does not begin call 4. In each step a rank sets a ready flag, copies and waits, so one
// peer of rank 1 is stuck before that peer sets the ready flag of the last step.
HG_TEST(a_stuck_call_names_peers_and_tensor) {
  for (const bool put : {false, true}) {
    test::Environment environment{{"HIRGEN_FAULT", "stall:1:4"}, {"GATHER_COPIES", "1"}};
    if (put) environment["GATHER_PUT"] = "1";
    const auto ended = run_ranks({"--timeout", "1"}, environment);
    const auto line = [&](const char* ranks, const char* what) {
      return format("  call 4 waits for the %s flag of %s from %s (%s)\n", what,
                    put ? "A_all" : "A", ranks, kSharing);
    };
    const Ended& before = ended[put ? 2 : 0];
    HG_EXPECT_CONTAINS(before.err, line(put ? "ranks 0, 1" : "ranks 1, 2", "ready"));
    HG_EXPECT_CONTAINS(before.err, line("rank 1", "done"));
    const Ended& behind = ended[put ? 0 : 2];
    HG_EXPECT_CONTAINS(behind.err, line("rank 1", "ready"));
    HG_EXPECT_CONTAINS(behind.err, line(put ? "ranks 1, 2" : "ranks 0, 1", "done"));
    HG_EXPECT(ended[1].err.find("call 4 waits for") == std::string::npos);
  }
}

HG_TEST(memory_that_cannot_be_shared_is_named_on_every_rank) {
  const auto ended = run_ranks({"--timeout", "2"}, {{"GATHER_PUT", "1"}, {"GATHER_PINNED@1", "1"}});
  for (const Ended& rank : ended) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, "rank 1: the memory of A_all cannot be shared");
    HG_EXPECT_CONTAINS(rank.err, "allocate it by cudaMalloc");
    HG_EXPECT_CONTAINS(rank.err, "via: nccl");
  }
}

// Runs the program with both variants, and expects correct results over `transport`. Returns rank
// 0's standard error; the other ranks print nothing.
std::string said_over(const std::string& transport, test::Environment environment,
                      std::vector<std::string> options = {}) {
  environment["GATHER_BOTH"] = "1";
  options.insert(options.end(), {"--iters", "2", "--repeats", "1", "--timeout", "5"});
  const auto ended = run_ranks(options, environment);
  for (const Ended& rank : ended) HG_EXPECT_EQ(rank.code, 0);
  HG_EXPECT_CONTAINS(ended[0].out, "# Transport: " + transport + "\n");
  HG_EXPECT_CONTAINS(ended[0].out, "# 0 wrong elements");
  HG_EXPECT_EQ(ended[1].err + ended[2].err, "");
  return ended[0].err;
}

HG_TEST(memory_that_can_be_shared_is) {
  HG_EXPECT_EQ(said_over("ipc-get", {}), "");
  HG_EXPECT_EQ(said_over("ipc-put", {{"GATHER_PUT", "1"}}), "");
}

// All obstacles but the last one affect only one rank. Even so, no two ranks on the node of that
// rank share memory.
HG_TEST(an_obstacle_of_one_rank_takes_its_host_to_nccl) {
  const std::string hidden = said_over("nccl", {{"HIRGEN_CPU_DEVICES@0", "1"}});
  HG_EXPECT_CONTAINS(hidden, "hirgen: gather runs over NCCL, not ipc-get: ranks 0 and 1");
  HG_EXPECT_CONTAINS(hidden, "is hidden from the first (CUDA_VISIBLE_DEVICES)");
  HG_EXPECT_CONTAINS(said_over("nccl", {{"HIRGEN_CPU_NO_PEER_ACCESS@1", "1"}}),
                     "ranks 1 and 0 cannot share memory: GPU 0000:02:00.0 has no access");
  HG_EXPECT_CONTAINS(said_over("nccl", {{"HIRGEN_CPU_NO_IPC@2", "1"}}),
                     "rank 2 cannot open memory of rank 0: cudaErrorNotSupported");
  HG_EXPECT_CONTAINS(said_over("nccl", {{"HIRGEN_CPU_NO_IPC", "1"}}), "(and the like on 2 more");
}

HG_TEST(ranks_share_memory_within_nodes) {
  constexpr const char* kBoth = "ipc-get within nodes, nccl between them";
  const std::string apart = said_over(kBoth, {{"HIRGEN_BOOT_ID@2", "another"}});
  HG_EXPECT_CONTAINS(apart,
                     "hirgen: gather runs over ipc-get within nodes and NCCL between them: ");
  HG_EXPECT_CONTAINS(apart, "ranks 0 and 2 cannot share memory: they are on different nodes");
  // Rank 2 is alone on its node, so an obstacle there does not matter.
  said_over(kBoth, {{"HIRGEN_BOOT_ID@2", "another"}, {"HIRGEN_CPU_NO_IPC@2", "1"}});
  const std::string twice =
      said_over("nccl", {{"HIRGEN_BOOT_ID@2", "another"}, {"HIRGEN_CPU_NO_IPC@1", "1"}});
  HG_EXPECT_CONTAINS(twice, "runs over NCCL, not ipc-get: rank 1 cannot open memory of rank 0");
  HG_EXPECT_CONTAINS(twice, "(and the like on 2 more ranks)");
  said_over("nccl", {{"HIRGEN_BOOT_ID@1", "another"}, {"HIRGEN_BOOT_ID@2", "third"}});
}

// Ranks of one node exchange handles of a new buffer without other nodes, while transfers to other
// nodes run.
HG_TEST(callers_may_change_their_pointers_within_nodes) {
  for (const char* seed : {"0", "1", "2", "3", "4", "5"}) {
    test::Environment environment{{"GATHER_COPIES", "1"}, {"HIRGEN_CPU_SEED", seed}};
    said_over("nccl", environment, {"--checks", "20", "--transport", "nccl"});
    environment["HIRGEN_BOOT_ID@1"] = "another";
    said_over("ipc-get within nodes, nccl between them", environment, {"--checks", "20"});
    environment["GATHER_PUT"] = "1";
    said_over("ipc-put within nodes, nccl between them", environment, {"--checks", "20"});
  }
}

HG_TEST(what_is_asked_for_is_not_looked_for) {
  HG_EXPECT_EQ(said_over("nccl", {}, {"--transport", "nccl"}), "");
  HG_EXPECT_EQ(said_over("nccl", {{"HIRGEN_TRANSPORT", "nccl"}}), "");
  HG_EXPECT_EQ(said_over("ipc-get", {{"HIRGEN_TRANSPORT", "nccl"}}, {"--transport=ipc"}), "");
  const auto ended = run_ranks({"--transport", "ipc", "--timeout", "2"},
                               {{"GATHER_BOTH", "1"}, {"HIRGEN_CPU_NO_PEER_ACCESS", "1"}});
  for (const Ended& rank : ended) {
    HG_EXPECT_EQ(rank.code, 3);
    HG_EXPECT_CONTAINS(rank.err, "has no access to the memory");
    HG_EXPECT_CONTAINS(rank.err, "HIRGEN_TRANSPORT=nccl");
  }
}

HG_TEST(ranks_that_are_asked_for_different_transports_are_told) {
  for (const Ended& rank :
       run_ranks({"--timeout", "2"}, {{"GATHER_BOTH", "1"}, {"HIRGEN_TRANSPORT@1", "nccl"}})) {
    HG_EXPECT_EQ(rank.code, 2);
    HG_EXPECT_CONTAINS(rank.err, "rank 0 is asked for transport auto, and rank 1 for nccl");
  }
}

// If one rank runs another variant of the program, all ranks must end with an error.
HG_TEST(a_rank_that_takes_another_transport_ends_all) {
  for (const Ended& rank : run_ranks({"--timeout", "2"}, {{"GATHER_STRAYS@1", "1"}})) {
    HG_EXPECT(rank.code != 0 && rank.code < 128);
    HG_EXPECT_CONTAINS(rank.err, "locations of GPUs");
  }
}

HG_TEST(a_transport_that_is_not_there_is_refused) {
  for (const Ended& rank : run_ranks({"--transport", "nccl"})) {
    HG_EXPECT_EQ(rank.code, 2);
    HG_EXPECT_CONTAINS(rank.err, "the program was emitted for ipc-get alone");
  }
  for (const Ended& rank : run_ranks({}, {{"HIRGEN_TRANSPORT", "tcp"}})) {
    HG_EXPECT_EQ(rank.code, 2);
    HG_EXPECT_CONTAINS(rank.err, "HIRGEN_TRANSPORT tcp: expected auto, ipc or nccl");
  }
}

HG_TEST(obstacles_are_told_apart) {
  char own[32] = "";
  char other[32] = "";
  HG_CHECK(cudaDeviceGetPCIBusId(own, sizeof(own), 0), "test");
  HG_CHECK(cudaDeviceGetPCIBusId(other, sizeof(other), 1), "test");
  const Location mine{"node1", "boot1", own};
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
