// Tests of how processes react to the system: forms of addresses, names that resolve late, forks,
// full outputs, few open files, and ranks that are stopped and continued.
#include <dlfcn.h>
#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/text.hpp"
#include "bootstrap/place.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/socket.hpp"
#include "hirgen/abi.hpp"
#include "test.hpp"
#include "test_ranks.hpp"
#include "test_threads.hpp"

namespace {

// How many more times the resolver fails, and the status with which it fails.
std::atomic<int> g_failures{0};
std::atomic<int> g_status{0};

}  // namespace

// Replaces the function of the C library, and calls it when no failure is due.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using Resolver = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<Resolver>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && g_failures.fetch_sub(1) > 0) return g_status;
  return next(node, service, hints, found);
}

namespace hirgen {
namespace {

using test::Ended;
using test::options_of;
using test::run_ranks;

std::string place(const std::string& text) {
  const auto read = parse_place(text);
  return read ? format("%s %d", read->host.c_str(), read->port) : "none";
}

HG_TEST(addresses_are_read_with_and_without_a_port) {
  HG_EXPECT_EQ(place("node0"), "node0 0");
  HG_EXPECT_EQ(place("node0.a.svc:4000"), "node0.a.svc 4000");
  HG_EXPECT_EQ(place("::1"), "::1 0");
  HG_EXPECT_EQ(place("[::1]"), "::1 0");
  HG_EXPECT_EQ(place("[fe80::1%eth0]:4000"), "fe80::1%eth0 4000");
  HG_EXPECT_EQ(place(""), " 0");
  for (const char* wrong : {"[::1", "[::1]4000", "[]", "[::1]:", "a:0", "a:65536", "a:b", ":1", "]",
                            "[::1]:1:2", "[[::1]]"}) {
    HG_EXPECT_EQ(place(wrong), "none");
  }
}

HG_TEST(ranks_meet_at_an_address_in_brackets) {
  const auto ended =
      run_ranks({"--iters", "1", "--repeats", "1", "--timeout", "20"}, {{"HIRGEN_ADDR", "[::1]"}});
  // Without IPv6, rank 0 says that it cannot listen there.
  for (const Ended& rank : ended) {
    if (ended[0].err.find("cannot listen") == std::string::npos) HG_EXPECT_EQ(rank.code, 0);
    HG_EXPECT(rank.err.find("resolve") == std::string::npos);
  }
}

HG_TEST(a_name_that_does_not_resolve_yet_is_asked_for_again) {
  for (const int status : {EAI_AGAIN, EAI_NONAME, EAI_NODATA, EAI_FAIL, EAI_SYSTEM}) {
    const test::ReservedPort port;
    const Socket listener = listen_at("127.0.0.1", port.number());
    g_status = status;
    g_failures = 3;
    HG_EXPECT(connect_to("localhost", port.number(), after(20)).valid());
  }
}

HG_TEST(a_name_that_never_resolves_fails_at_the_deadline) {
  const auto fail = [](const char* name, double seconds) {
    g_status = EAI_NONAME;
    g_failures = 1000;
    const auto begin = Clock::now();
    const auto thrown = test::thrown_by([&] { connect_to(name, 1, after(seconds)); });
    g_failures = 0;
    HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
    HG_EXPECT_CONTAINS(thrown.message, "cannot resolve rank 0's address");
    return seconds_since(begin);
  };
  HG_EXPECT(fail("head.default.svc", 0.3) >= 0.3);
  HG_EXPECT(fail("no host", 20) < 10);  // not a host name
}

/// A program of one rank and one tensor that does nothing.
class Nothing final : public Program {
 public:
  void run(cudaStream_t /*caller*/, const std::vector<void*>& /*tensors*/) override {}
};

ProgramTable nothing_table() {
  ProgramTable table;
  table.info.name = "nothing";
  table.tensors = [](int) {
    TensorDesc a;
    a.name = "A";
    a.axes = {{16, 1, 0}};
    return std::vector<TensorDesc>{a};
  };
  table.create = [](Context&) -> std::unique_ptr<Program> { return std::make_unique<Nothing>(); };
  return table;
}

/// Calls the C ABI in a forked process. Returns 0 if all calls are refused as documented, otherwise
/// the number of the first check that fails.
int calls_of_a_fork(hirgen_handle* handle) {
  void* tensors[1] = {};
  hirgen_tensor tensor;
  hirgen_handle* other = nullptr;
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.world = 1;
  if (abi_run(handle, nullptr, tensors, 1) != HIRGEN_USAGE) return 1;
  if (std::string(abi_last_error(handle)).find("forked") == std::string::npos) return 2;
  if (abi_status(handle) != HIRGEN_USAGE || abi_tensor_count(handle) != 0) return 3;
  if (abi_tensor(handle, 0, &tensor) != HIRGEN_USAGE) return 4;
  if (abi_create(nothing_table(), &options, &other) != HIRGEN_USAGE || other != nullptr) return 5;
  if (std::string(abi_last_error(nullptr)).find("forked") == std::string::npos) return 6;
  return abi_destroy(handle) == HIRGEN_USAGE ? 0 : 7;
}

HG_TEST(calls_in_a_forked_process_are_refused_at_once) {
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.world = 1;
  hirgen_handle* handle = nullptr;
  HG_EXPECT_EQ(abi_create(nothing_table(), &options, &handle), HIRGEN_OK);
  // The child inherits any lock that a thread of the parent holds.
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) static_cast<void>(abi_status(handle));
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(calls_of_a_fork(handle));
    }
    int status = 0;
    waitpid(child, &status, 0);
    HG_EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
  HG_EXPECT_EQ(abi_destroy(handle), HIRGEN_OK);
}

HG_TEST(a_full_standard_output_is_an_error) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    setenv("SAMPLE_STDOUT", "/dev/full", 1);
    execl("/proc/self/exe", "host_processes", "--rank", "--help", nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  HG_EXPECT_EQ(WEXITSTATUS(status), 3);
  const auto ended = run_ranks({"--iters", "1", "--repeats", "1", "--timeout", "20"},
                               {{"SAMPLE_STDOUT@0", "/dev/full"}});
  HG_EXPECT_EQ(ended[0].code, 3);
  HG_EXPECT_CONTAINS(ended[0].err, "cannot write to standard output: No space left");
}

HG_TEST(few_open_files_are_named_as_the_reason) {
  for (const rlim_t most : {8U, 12U, 20U}) {
    std::vector<Ended> ended;
    {
      const test::FileLimit few(most);
      ended = run_ranks({"--iters", "1", "--repeats", "1", "--timeout", "1"});
    }
    std::string all;
    int worst = 0;
    for (const Ended& rank : ended) {
      all += rank.err;
      worst = std::max(worst, rank.code);
      HG_EXPECT(rank.seconds < 20);
    }
    if (worst == 0) continue;
    test::expect(all.find("too many open files") != std::string::npos,
                 format("limit %d: %s", static_cast<int>(most), all.c_str()), __FILE__, __LINE__);
    test::expect(all.find("bytes of GPU memory") == std::string::npos, all, __FILE__, __LINE__);
  }
}

HG_TEST(ranks_that_are_all_stopped_and_continued_count_running_time) {
  const test::Pause pause{0.3, 2.5};
  const auto ended = run_ranks(
      {"--iters", "50", "--repeats", "100", "--timeout", "2", "--running-time"}, {}, pause);
  for (const Ended& rank : ended) {
    HG_EXPECT_EQ(rank.code, 0);
    HG_EXPECT_EQ(rank.err, "");
    HG_EXPECT(rank.seconds > pause.after + pause.seconds);
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "--rank") return hirgen::test::run_all(argc, argv);
  if (const char* path = std::getenv("SAMPLE_STDOUT")) {
    if (std::freopen(path, "w", stdout) == nullptr) return 98;
  }
  return hirgen::run_main(argc - 1, argv + 1, hirgen::test::sample_table());
}
