// Tests of ranks that survive failures (HIRGEN_FAILURE_RETURNS): a create that fails midway on one
// rank or on all; a run that fails on one; a destroy whose peer is gone. The remaining processes
// continue.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hirgen/abi.hpp"
#include "hirgen/ipc.hpp"
#include "test.hpp"
#include "test_ranks.hpp"

namespace hirgen {
namespace {

using test::chosen;
using test::Ended;
using test::kWorld;
using test::run_ranks;

constexpr const char* kWhere = "sum.yaml:1:1 mesh";
constexpr int kTimeout = 4;

int rank_of_process() {
  return static_cast<int>(std::strtol(std::getenv("HIRGEN_RANK"), nullptr, 10));
}

/// Creates the sample, but fails with an allocation on rank 1. The other ranks may then be in a
/// step that needs all ranks.
std::unique_ptr<Program> create_flawed(Context& context) {
  if (context.rank() == 1) context.allocate(size_t{1} << 50, "the buffer of sum");
  if (chosen("OTHERS_SPLIT")) context.team({context.rank()}, kWhere);
  if (chosen("OTHERS_SHARE")) static_cast<void>(Peers(context, kWhere));
  return test::sample_table().create(context);
}

/// A program with shared memory, which all ranks free together.
struct Sharing final : Program {
  explicit Sharing(Context& context) : peers(context, kWhere) {
    peers.share(context.allocate(64, "it"), {64, 1, "it", kWhere});
  }
  void run(cudaStream_t /*caller*/, const std::vector<void*>& /*tensors*/) override {}
  Peers peers;
};

hirgen_options options_of(int* notes) {
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.timeout_seconds = kTimeout;
  options.on_failure = HIRGEN_FAILURE_RETURNS;
  options.failed = [](void* data, int /*code*/, const char* /*report*/) {
    ++*static_cast<int*>(data);
  };
  options.failed_data = notes;
  return options;
}

/// Prints the result of a call on this rank, for the test to check.
void say(const char* what, int code, const hirgen_handle* handle = nullptr) {
  std::cout << what << " " << code << ": " << (code == 0 ? "" : abi_last_error(handle)) << "\n";
}

int create(const ProgramTable& table, hirgen_handle** handle) {
  static int notes = 0;
  const hirgen_options options = options_of(&notes);
  return abi_create(table, &options, handle);
}

/// Creates the sample, makes up to three calls and destroys it, and prints the results.
void go_on() {
  hirgen_handle* handle = nullptr;
  say("again", create(test::sample_table(), &handle));
  std::vector<void*> tensors(2);
  for (size_t i = 0; i < tensors.size(); ++i) {
    hirgen_tensor tensor{};
    abi_tensor(handle, i, &tensor);
    HG_CHECK(cudaMalloc(&tensors[i], tensor.local_bytes), kWhere);
  }
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaStreamCreate(&stream), kWhere);
  int code = HIRGEN_OK;
  for (int call = 0; call < 3 && code == HIRGEN_OK; ++call) {
    code = abi_run(handle, stream, tensors.data(), tensors.size());
  }
  HG_CHECK(cudaStreamSynchronize(stream), kWhere);
  if (code == HIRGEN_OK) code = abi_status(handle);
  say("run", code, handle);
  say("destroy", abi_destroy(handle));
}

void create_fails() {
  ProgramTable table = test::sample_table();
  table.create = create_flawed;
  hirgen_handle* handle = nullptr;
  say("create", create(table, &handle));
  go_on();
}

void digests_differ() {
  ProgramTable table = test::sample_table();
  if (rank_of_process() == 1) table.info.digest = "another";
  hirgen_handle* handle = nullptr;
  say("create", create(table, &handle));
  go_on();
}

void run_fails() {
  setenv("SAMPLE_FLAW", "1:run", 1);
  go_on();
  unsetenv("SAMPLE_FLAW");
  go_on();
}

void peer_is_gone() {
  ProgramTable table = test::sample_table();
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Sharing>(context);
  };
  hirgen_handle* handle = nullptr;
  say("create", create(table, &handle));
  if (rank_of_process() == 1) _exit(0);
  say("destroy", abi_destroy(handle));
}

void run_rank(const std::string& scenario) {
  if (scenario == "create") create_fails();
  if (scenario == "digest") digests_differ();
  if (scenario == "run") run_fails();
  if (scenario == "gone") peer_is_gone();
}

/// Runs a scenario on all ranks. Expects that the processes end with 0, in time and without
/// messages on standard error.
std::vector<Ended> run(const char* scenario, const test::Environment& environment = {}) {
  std::vector<Ended> ranks = run_ranks({scenario}, environment);
  for (const Ended& rank : ranks) {
    HG_EXPECT_EQ(rank.code, 0);
    HG_EXPECT_EQ(rank.err, "");
    HG_EXPECT(rank.seconds < kTimeout + 5);
  }
  return ranks;
}

constexpr const char* kWentOn = "again 0: \nrun 0: \ndestroy 0: \n";

HG_TEST(a_create_that_one_rank_has_no_memory_for_returns_on_all_and_is_done_again) {
  for (const char* others : {"OTHERS_SPLIT", "OTHERS_SHARE", "OTHERS_NOTHING"}) {
    const std::vector<Ended> ranks = run("create", {{others, "1"}});
    HG_EXPECT_CONTAINS(ranks[1].out, "create 3: the buffer of sum needs 1125899906842624 bytes");
    for (const Ended& rank : ranks) HG_EXPECT_CONTAINS(rank.out, kWentOn);
    for (const size_t other : {0, 2}) {
      HG_EXPECT_CONTAINS(ranks[other].out, "create 5: ");
      HG_EXPECT_CONTAINS(ranks[other].out, "rank 1 failed: the buffer of sum needs");
    }
  }
}

HG_TEST(ranks_of_different_programs_all_learn_it_and_may_create_again) {
  for (const Ended& rank : run("digest")) {
    HG_EXPECT_CONTAINS(rank.out, "create 3: ");
    HG_EXPECT_CONTAINS(rank.out, "digest");
    HG_EXPECT_CONTAINS(rank.out, kWentOn);
  }
}

HG_TEST(a_run_that_fails_on_one_rank_fails_on_all) {
  const std::vector<Ended> ranks = run("run");
  HG_EXPECT_CONTAINS(ranks[1].out, "run 4: it broke\ndestroy 4: it broke\n");
  for (const Ended& rank : ranks) HG_EXPECT_CONTAINS(rank.out, kWentOn);
  for (const size_t other : {0, 2}) {
    HG_EXPECT_CONTAINS(ranks[other].out, "run 5: ");
    HG_EXPECT_CONTAINS(ranks[other].out, "rank 1 failed: it broke");
    HG_EXPECT_CONTAINS(ranks[other].out, "destroy 5: ");
  }
}

HG_TEST(a_destroy_without_a_peer_returns) {
  const std::vector<Ended> ranks = run("gone");
  for (const size_t other : {0, 2}) {
    HG_EXPECT_CONTAINS(ranks[other].out, "destroy 5: ");
    HG_EXPECT_CONTAINS(ranks[other].out, "rank 1 died");
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--rank") == 0) {
    hirgen::run_rank(argv[2]);
    return 0;
  }
  return hirgen::test::run_all(argc, argv);
}
