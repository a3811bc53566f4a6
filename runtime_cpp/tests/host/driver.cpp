// Tests of whole programs on several ranks: the driver's check, timing, files and reports, the C
// ABI, and what the ranks do when one of them fails. Every rank is this program, started again.
#include "driver/driver.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "driver/safetensors.hpp"
#include "hirgen/abi.hpp"
#include "test.hpp"
#include "test_ranks.hpp"

namespace hirgen {
namespace {

using test::Ended;
using test::Environment;
using test::kWorld;
using test::read_file;
using test::run_ranks;
using test::scratch;

constexpr double kTimeout = 2;

const std::vector<std::string> kShort{"--iters",   "2", "--warmup",  "1",
                                      "--repeats", "3", "--timeout", "2"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), kShort.begin(), kShort.end());
  return more;
}

// A timeout in seconds that no wait may reach, even on a loaded machine.
constexpr double kPatience = 20;

std::vector<std::string> patient(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"--iters", "2", "--warmup", "1", "--repeats", "3", "--timeout", "20"});
  return more;
}

void expect_codes(const std::vector<Ended>& ended, const std::vector<int>& codes) {
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    test::expect(ended[rank].code == codes[rank],
                 format("rank %zu exits with %d, not %d:\n%s", rank, ended[rank].code, codes[rank],
                        ended[rank].err.c_str()),
                 __FILE__, __LINE__);
  }
}

HG_TEST(a_correct_program_is_checked_and_timed) {
  const std::string json_path = scratch(9, "json");
  const auto ended =
      run_ranks(with({"--json", json_path, "--checks", "3", "--calls-per-graph", "7"}));
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_CONTAINS(ended[0].out, "# 0 wrong elements in 3 checked calls (exact): OK");
  HG_EXPECT_EQ(ended[1].out + ended[2].out, "");
  HG_EXPECT_EQ(ended[0].err + ended[1].err + ended[2].err, "");
  const JsonValue json = parse_json(read_file(json_path));
  HG_EXPECT_EQ(json.find("wrong")->number, 0.0);
  // Without a graph, --calls-per-graph has no effect.
  HG_EXPECT_EQ(json.find("options")->find("calls_per_graph")->number, 1.0);
  HG_EXPECT_EQ(json.find("ranks")->items.size(), 3U);
  const JsonValue& times = *json.find("time_us");
  HG_EXPECT_EQ(times.find("repeats")->items.size(), 3U);
  HG_EXPECT_EQ(times.find("by_rank")->items.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    double slowest = 0;
    for (const JsonValue& rank : times.find("by_rank")->items) {
      slowest = std::max(slowest, rank.items[i].number);
    }
    HG_EXPECT_EQ(times.find("repeats")->items[i].number, slowest);
  }
  unlink(json_path.c_str());
}

HG_TEST(a_repeat_is_a_whole_number_of_launches) {
  ProgramInfo info;
  Options options;
  options.iters = 10;
  options.calls_per_graph = 3;
  HG_EXPECT_EQ(with_launches(info, options).calls_per_graph, 1);
  info.graph = true;
  const test::Thrown refused = test::thrown_by([&] { with_launches(info, options); });
  HG_EXPECT_EQ(refused.code, Code::kUsage);
  HG_EXPECT_CONTAINS(refused.message, "--iters 10: expected a multiple of --calls-per-graph 3");
  options.calls_per_graph = 5;
  HG_EXPECT_EQ(with_launches(info, options).calls_per_graph, 5);
}

/// Makes `text` the standard input of this process, and so of all ranks of the next run.
void feed(const std::string& text) {
  const std::string path = scratch(9, "stdin");
  write_file(path, {{text.data(), text.size()}});
  const int file = open(path.c_str(), O_RDONLY);
  dup2(file, STDIN_FILENO);
  close(file);
  unlink(path.c_str());
}

HG_TEST(a_paced_program_times_a_round_for_each_line) {
  const std::string json_path = scratch(9, "json");
  feed("one\ntwo\n");
  const auto ended = run_ranks(with({"--json", json_path, "--paced"}));
  expect_codes(ended, {0, 0, 0});
  const size_t first = ended[0].out.find("# round, us: ");
  HG_EXPECT(first != std::string::npos);
  HG_EXPECT(ended[0].out.find("# round, us: ", first + 1) != std::string::npos);
  const JsonValue json = parse_json(read_file(json_path));
  HG_EXPECT_EQ(json.find("time_us")->find("repeats")->items.size(), 6U);
  unlink(json_path.c_str());
}

HG_TEST(a_paced_program_that_is_asked_for_nothing_says_so) {
  feed("");
  const auto ended = run_ranks(with({"--paced"}));
  expect_codes(ended, {2, 2, 2});
  HG_EXPECT_CONTAINS(ended[0].err, "--paced: standard input asked for no round");
}

HG_TEST(wrong_elements_are_counted_exactly) {
  const auto ended = run_ranks(with({"--checks", "2"}), {{"SAMPLE_FLAW", "1:value"}});
  expect_codes(ended, {1, 1, 1});
  // Two elements in each of two calls, on one rank of three.
  HG_EXPECT_CONTAINS(ended[0].out, "# 4 wrong elements in 2 checked calls (exact): FAILED");
  HG_EXPECT_CONTAINS(ended[1].err, "2 of 576 elements of C are wrong; the first is element 0");
}

/// Writes a safetensors file with values for the sample's input A under `name`. Returns the whole
/// tensor and its bytes.
std::pair<TensorDesc, std::vector<char>> write_input(const std::string& path, const char* name) {
  TensorDesc whole = test::sample_table().tensors(0)[0];
  for (Axis& axis : whole.axes) axis.mesh_extent = 1;
  whole.name = name;
  std::vector<float> values(static_cast<size_t>(whole.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37F;
  std::vector<char> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  write_safetensors(path, whole, bytes);
  return {whole, bytes};
}

HG_TEST(a_file_without_the_tensor_is_refused) {
  const std::string in = scratch(9, "in");
  write_input(in, "B");
  const auto ended = run_ranks(patient({"--load", "A=" + in}));
  expect_codes(ended, {3, 3, 3});
  HG_EXPECT_CONTAINS(ended[1].err, in + " has no tensor A; it has B");
  unlink(in.c_str());
}

HG_TEST(checked_calls_have_their_tensors_at_the_least_alignment) {
  const auto ended = run_ranks(with({"--checks", "2"}), {{"SAMPLE_FLAW", "0:places"}});
  expect_codes(ended, {0, 0, 0});
  for (const char* call : {"call 1: A at 16, C at 16", "call 2: A at 16, C at 16",
                           "call 3: A at 0, C at 0", "call 9: A at 0, C at 0"}) {
    HG_EXPECT_CONTAINS(ended[0].err, call);
  }
  const std::string in = scratch(9, "in");
  write_input(in, "A");
  const auto loaded = run_ranks(with({"--load", "A=" + in}), {{"SAMPLE_FLAW", "0:places"}});
  expect_codes(loaded, {0, 0, 0});
  HG_EXPECT_CONTAINS(loaded[0].err, "call 2: A at 16, C at 16");
  HG_EXPECT_CONTAINS(loaded[0].err, "call 3: A at 0, C at 0");
  unlink(in.c_str());
}

HG_TEST(what_is_loaded_is_computed_on_and_can_be_dumped) {
  const std::string in = scratch(9, "in");
  const std::string out = scratch(9, "result");
  auto [whole, bytes] = write_input(in, "A");
  const auto ended = run_ranks(with({"--load", "A=" + in, "--dump", "C=" + out}));
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_CONTAINS(ended[0].out, "in 2 checked calls (exact): OK");
  const SafetensorsFile result(out);
  HG_EXPECT_EQ(result.tensors().front().name, "C");
  HG_EXPECT(read_views({whole_view(result.tensors().front())}, whole, true) == bytes);
  unlink(in.c_str());
  unlink(out.c_str());
}

HG_TEST(a_bad_command_line_ends_every_rank) {
  expect_codes(run_ranks({"--iters", "none"}), {2, 2, 2});
  const auto ended = run_ranks(with({"--dump", "D=/tmp/x"}));
  expect_codes(ended, {2, 2, 2});
  HG_EXPECT_CONTAINS(ended[0].err, "it has A, C");
}

HG_TEST(a_file_that_one_rank_cannot_read_ends_all) {
  const auto ended = run_ranks(with({"--load", "A=/nonexistent"}));
  expect_codes(ended, {3, 3, 3});
  HG_EXPECT_CONTAINS(ended[2].err, "/nonexistent");
}

HG_TEST(a_file_error_of_one_rank_is_its_code_alone) {
  auto ended = run_ranks(patient({"--json", "/nonexistent/report.json"}));
  expect_codes(ended, {3, 5, 5});
  HG_EXPECT_CONTAINS(ended[0].err, "cannot write /nonexistent/report.json");
  HG_EXPECT_CONTAINS(ended[2].err, "rank 0 failed: cannot write /nonexistent/report.json");
  ended = run_ranks(patient({"--trace", "/nonexistent/trace.json"}));
  expect_codes(ended, {3, 5, 5});
  HG_EXPECT_CONTAINS(ended[0].err, "cannot write /nonexistent/trace.json");
  ended = run_ranks(patient({"--dump", "C=/nonexistent/c.safetensors"}));
  expect_codes(ended, {3, 5, 5});
  // Only rank 2 does not find the file, because it runs in another folder.
  const std::string in = scratch(9, "in");
  write_input(in, "A");
  const size_t slash = in.rfind('/');
  ended = run_ranks(patient({"--load", "A=" + in.substr(slash + 1)}),
                    {{"SAMPLE_FOLDER", in.substr(0, slash)}, {"SAMPLE_FOLDER@2", "/"}});
  expect_codes(ended, {5, 5, 3});
  HG_EXPECT_CONTAINS(ended[0].err, "rank 2 failed: cannot read " + in.substr(slash + 1));
  for (const Ended& rank : ended) HG_EXPECT(rank.seconds < kPatience);
  unlink(in.c_str());
}

HG_TEST(a_report_can_go_to_standard_output) {
  const auto ended = run_ranks(patient({"--json", "/dev/stdout"}));
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_CONTAINS(ended[0].out, "# 0 wrong elements");
  HG_EXPECT_CONTAINS(ended[0].out, "\"time_us\": {");
}

HG_TEST(ranks_of_two_programs_do_not_start) {
  const auto ended = run_ranks(kShort, {{"SAMPLE_DIGEST@2", "d9"}});
  expect_codes(ended, {3, 3, 3});
  for (const Ended& rank : ended) {
    HG_EXPECT_CONTAINS(rank.err, "has program digest d9 where rank 0 has d0");
  }
}

HG_TEST(a_rank_without_a_device_ends_all) {
  const auto ended = run_ranks(kShort, {{"HIRGEN_LOCAL_RANK@1", "64"}});
  expect_codes(ended, {3, 3, 3});
  for (const Ended& rank : ended) HG_EXPECT_CONTAINS(rank.err, "GPU 64 is wanted");
}

HG_TEST(a_failure_of_one_rank_is_told_to_all) {
  auto ended = run_ranks(kShort, {{"SAMPLE_FLAW", "1:create"}});
  expect_codes(ended, {5, 3, 5});
  HG_EXPECT_CONTAINS(ended[0].err, "rank 1 failed: no room for it");
  HG_EXPECT_CONTAINS(ended[1].err, "sample rank 1: no room for it");
  ended = run_ranks(kShort, {{"SAMPLE_FLAW", "0:run"}});
  expect_codes(ended, {4, 5, 5});
  HG_EXPECT_CONTAINS(ended[2].err, "rank 0 failed: it broke");
}

/// Expects that the culprit ends with `code`, and that every other rank ends with kPeer within
/// `within` seconds, and names the culprit and what this other rank itself waits for.
void expect_blamed(const std::vector<Ended>& ended, int culprit, int code, double within,
                   const char* waits) {
  for (int rank = 0; rank < kWorld; ++rank) {
    const Ended& one = ended[static_cast<size_t>(rank)];
    if (rank == culprit) {
      HG_EXPECT_EQ(one.code, code);
      continue;
    }
    HG_EXPECT_EQ(one.code, 5);
    HG_EXPECT_CONTAINS(one.err, "rank " + std::to_string(culprit));
    HG_EXPECT_CONTAINS(one.err, waits);
    test::expect(one.seconds < within, format("rank %d ended after %g s", rank, one.seconds),
                 __FILE__, __LINE__);
  }
}

// With these options, call 1 is checked, and so complete, before call 2 starts. The tests inject
// their faults at statement 11 of call 2, which is the gather of its second slice.
const std::vector<std::string> kOneCheck = with({"--checks", "1"});

HG_TEST(a_rank_that_dies_is_named_at_once) {
  const std::map<std::string, int> ends{
      {"kill", 128 + SIGKILL}, {"segv", 128 + SIGSEGV}, {"exit", 0}};
  for (const auto& [kind, code] : ends) {
    for (const int culprit : {0, 2}) {
      const std::string fault = format("%s:%d:2:11", kind.c_str(), culprit);
      // A rank that has not begun call 2 waits for nothing, so the test looks only for "host at ",
      // which each message must contain.
      expect_blamed(run_ranks(kOneCheck, {{"HIRGEN_FAULT", fault}}), culprit, code, kTimeout,
                    "host at ");
    }
  }
}

HG_TEST(a_rank_that_stalls_is_named_within_the_deadline) {
  for (const int culprit : {0, 2}) {
    expect_blamed(run_ranks(kOneCheck, {{"HIRGEN_FAULT", format("stall:%d:2:11", culprit)}}),
                  culprit, 6, kTimeout + 5,
                  "waits in call 2 for gathered[1] (sample.yaml:2:2 gather)");
    // The device of a stopped process stops, too, so the first slice may not arrive.
    expect_blamed(run_ranks(kOneCheck, {{"HIRGEN_FAULT", format("stop:%d:2:11", culprit)}}),
                  culprit, 6, kTimeout + 5, "waits in call 2 for gathered[");
  }
}

HG_TEST(a_bad_fault_is_a_usage_error) {
  const auto ended = run_ranks(kShort, {{"HIRGEN_FAULT", "burn:1:1"}});
  expect_codes(ended, {2, 2, 2});
  HG_EXPECT_CONTAINS(ended[0].err, "HIRGEN_FAULT=burn:1:1");
  const auto unknown = run_ranks(kShort, {{"HIRGEN_FAULT", "kill:3:1"}});
  expect_codes(unknown, {2, 2, 2});
  HG_EXPECT_CONTAINS(unknown[0].err, "HIRGEN_FAULT=kill:3:1: there is no rank 3");
}

/// Ranks of one node find each other without an address and a port.
HG_TEST(ranks_of_one_host_meet_without_an_address) {
  const auto ended = run_ranks(patient(), {{"HIRGEN_ADDR", ""}, {"HIRGEN_PORT", ""}});
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_EQ(ended[0].err, "");
  for (const char* missing : {"HIRGEN_ADDR", "HIRGEN_PORT"}) {
    expect_codes(run_ranks(patient(), {{missing, ""}}), {0, 0, 0});
  }
}

HG_TEST(a_job_without_a_secret_says_once_that_it_trusts_the_network) {
  // All addresses of this node, which count as reachable from outside.
  const Environment open{{"HIRGEN_ADDR", "0.0.0.0"}};
  auto ended = run_ranks(patient(), open);
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_CONTAINS(ended[0].err, "this job has no secret");
  HG_EXPECT_EQ(ended[1].err + ended[2].err, "");
  Environment secret = open;
  secret["HIRGEN_JOB_SECRET"] = "one for all";
  ended = run_ranks(patient({"--require-secret"}), secret);
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_EQ(ended[0].err + ended[1].err + ended[2].err, "");
  ended = run_ranks(patient({"--require-secret"}), open);
  expect_codes(ended, {3, 3, 3});
  HG_EXPECT_CONTAINS(ended[2].err, "HIRGEN_JOB_SECRET");
}

HG_TEST(a_rank_with_another_secret_does_not_get_in) {
  const auto ended =
      run_ranks(kShort, {{"HIRGEN_JOB_SECRET", "one for all"}, {"HIRGEN_JOB_SECRET@2", "its own"}});
  expect_codes(ended, {5, 5, 3});
  HG_EXPECT_CONTAINS(ended[0].err, "missing rank 2; 1 connection without this job's secret");
  HG_EXPECT_CONTAINS(ended[2].err, "another job secret");
}

/// Uses the library as a framework does: with a handle, its own buffers and its own stream.
int run_embedded() {
  const ProgramTable table = test::sample_table();
  hirgen_handle* handle = nullptr;
  HG_EXPECT_EQ(abi_create(table, nullptr, nullptr), HIRGEN_USAGE);
  hirgen_options options{};
  options.version = 99;
  HG_EXPECT_EQ(abi_create(table, &options, &handle), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(nullptr), "99");
  HG_EXPECT_EQ(abi_create(table, nullptr, &handle), HIRGEN_OK);
  HG_EXPECT_EQ(abi_tensor_count(handle), 2U);
  std::vector<void*> pointers;
  for (size_t i = 0; i < 2; ++i) {
    hirgen_tensor tensor;
    HG_EXPECT_EQ(abi_tensor(handle, i, &tensor), HIRGEN_OK);
    HG_EXPECT_EQ(tensor.local_extent[1], i == 0 ? 1 : kWorld);
    HG_CHECK(cudaMalloc(&pointers.emplace_back(), tensor.local_bytes), "test");
  }
  hirgen_tensor none;
  HG_EXPECT_EQ(abi_tensor(handle, 2, &none), HIRGEN_USAGE);
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaStreamCreate(&stream), "test");
  HG_EXPECT_EQ(abi_run(handle, stream, pointers.data(), 1), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(handle), "the program has 2");
  HG_EXPECT_EQ(abi_run(nullptr, stream, pointers.data(), 2), HIRGEN_USAGE);
  std::vector<void*> null{nullptr, pointers[1]};
  HG_EXPECT_EQ(abi_run(handle, stream, null.data(), 2), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(handle), "tensor A is null");
  int code = HIRGEN_OK;
  for (int i = 0; i < 40 && code == HIRGEN_OK; ++i) {
    code = abi_run(handle, stream, pointers.data(), 2);
  }
  if (code != HIRGEN_OK) {
    HG_EXPECT_CONTAINS(abi_last_error(handle), "it broke");
    HG_EXPECT_EQ(abi_run(handle, stream, pointers.data(), 2), code);
  } else {
    HG_CHECK(cudaStreamSynchronize(stream), "test");
  }
  HG_EXPECT_EQ(abi_destroy(handle), code);
  return code;
}

HG_TEST(a_host_program_embeds_the_library) {
  const auto ended = run_ranks({"--embedded"});
  expect_codes(ended, {0, 0, 0});
  HG_EXPECT_EQ(ended[0].err + ended[1].err + ended[2].err, "");
}

HG_TEST(a_failed_call_returns_its_code_to_the_host_program) {
  const auto ended = run_ranks({"--embedded"}, {{"SAMPLE_FLAW", "1:run"}});
  expect_codes(ended, {5, 4, 5});
  HG_EXPECT_EQ(ended[1].err, "");
  HG_EXPECT_CONTAINS(ended[0].err, "rank 1 failed: it broke");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  const char* folder = std::getenv("SAMPLE_FOLDER");
  if (folder != nullptr && chdir(folder) != 0) return 98;
  if (argc > 2 && std::string(argv[2]) == "--embedded") {
    // A failed expectation prints to standard error, which the parent compares.
    return hirgen::run_embedded();
  }
  return hirgen::run_main(argc - 1, argv + 1, hirgen::test::sample_table());
}
