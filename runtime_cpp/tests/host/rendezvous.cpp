// Tests of the rendezvous. The ranks are threads, because a rendezvous has no state per process.
#include "bootstrap/rendezvous.hpp"

#include <thread>

#include "test.hpp"
#include "test_ranks.hpp"
#include "test_threads.hpp"

namespace hirgen {
namespace {

using test::options_of;

using Body = std::function<void(Rendezvous&, int rank)>;
using Change = std::function<void(ContextOptions&, Identity&)>;

/// Runs `ranks` of a world as threads: each joins the rendezvous with options that `change` may
/// alter, and runs `body`. Returns the error of each.
std::vector<test::Thrown> run_ranks(const std::vector<int>& ranks, int world, const Body& body,
                                    const Change& change) {
  const test::ReservedPort port;
  std::vector<test::Thrown> thrown(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      ContextOptions options = options_of(ranks[i], world, port.number());
      Identity identity = identify(options, 22803);
      identity.pid = 100 + static_cast<int>(i);
      identity.device = "0000:0" + std::to_string(i) + ":00.0";
      change(options, identity);
      thrown[i] = test::thrown_by([&] {
        Rendezvous rendezvous(options, identity);
        body(rendezvous, ranks[i]);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

void nothing(Rendezvous& /*rendezvous*/, int /*rank*/) {}
void unchanged(ContextOptions& /*options*/, Identity& /*identity*/) {}

/// Every rank must fail with a message that contains `part`.
void expect_all_say(const std::vector<test::Thrown>& thrown, const std::string& part) {
  for (const test::Thrown& one : thrown) HG_EXPECT_CONTAINS(one.message, part);
}

HG_TEST(ranks_exchange_bytes) {
  const auto thrown = run_ranks(
      {0, 1, 2, 3}, 4,
      [](Rendezvous& rendezvous, int rank) {
        const std::string mine(static_cast<size_t>(rank) * 100'000, static_cast<char>('a' + rank));
        const auto all = rendezvous.allgather(mine, "bytes");
        for (size_t r = 0; r < 4; ++r) HG_EXPECT_EQ(all[r].size(), r * 100'000);
        HG_EXPECT_EQ(all[3].back(), 'd');
        HG_EXPECT_EQ(rendezvous.broadcast(rank == 0 ? "zero" : "other", "word"), "zero");
        HG_EXPECT_EQ(rendezvous.gather("x", "letters").size(), rank == 0 ? 4U : 0U);
        HG_EXPECT_EQ(rendezvous.max(rank == 2 ? 9.5 : 1.0, "max"), 9.5);
        HG_EXPECT_EQ(rendezvous.sum(rank, "sum"), 6);
        rendezvous.barrier("end");
      },
      unchanged);
  for (const test::Thrown& one : thrown) HG_EXPECT_EQ(one.message, "");
}

HG_TEST(one_rank_needs_nobody) {
  Rendezvous alone(options_of(0, 1, 0), identify(options_of(0, 1, 0), 1));
  HG_EXPECT_EQ(alone.allgather("x", "alone").size(), 1U);
  alone.barrier("alone");
  ContextOptions options = options_of(0, 1, 0);
  options.mesh_size = 4;
  const auto make = [&] { Rendezvous rendezvous(options, identify(options, 1)); };
  HG_EXPECT_CONTAINS(test::thrown_by(make).message, "generated for 4 ranks");
}

HG_TEST(a_rank_that_differs_is_named_to_all) {
  const auto differing = [](const Change& change) {
    return run_ranks({0, 1, 2}, 3, nothing, [&](ContextOptions& options, Identity& identity) {
      if (options.rank == 2) change(options, identity);
    });
  };
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.digest = "d2"; }),
                 "pid 102) has program digest d2 where rank 0 has d1, from another spec");
  const auto sized = [](Identity& i, const char* n) { i.parameters = std::string("D=3 N=") + n; };
  expect_all_say(
      run_ranks({0, 1, 2}, 3, nothing,
                [&](ContextOptions& o, Identity& i) { sized(i, o.rank == 2 ? "48" : "8"); }),
      "pid 102) has parameters N=48 where rank 0 has N=8: give every rank the same");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.program = "other"; }),
                 "has program other where rank 0 has test");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.world = 5; }),
                 "has world size 5 where rank 0 has 3");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.nccl_version = 22000; }),
                 "has NCCL version 22000");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.protocol = 99; }),
                 "has runtime protocol 99");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.device = "0000:01:00.0"; }),
                 "both use GPU 0000:01:00.0");
  expect_all_say(differing([](ContextOptions&, Identity& i) { i.problem = "no GPU"; }),
                 "pid 102): no GPU");
  expect_all_say(run_ranks({0, 1}, 2, nothing,
                           [](ContextOptions& o, Identity& i) { o.mesh_size = i.mesh_size = 4; }),
                 "generated for 4 ranks and is launched with 2");
}

HG_TEST(two_processes_of_one_rank_are_refused) {
  expect_all_say(run_ranks({0, 1, 1}, 3, nothing, unchanged), "say that they are the same rank");
}

HG_TEST(missing_ranks_are_named) {
  const auto thrown = run_ranks({0, 1}, 4, nothing, unchanged);
  expect_all_say(thrown, "only ranks 0, 1 of 4 came within 3 s: missing ranks 2, 3");
  HG_EXPECT_EQ(thrown[0].code, Code::kPeer);
}

HG_TEST(nobody_at_rank_zeros_address) {
  const auto thrown = run_ranks(
      {1}, 2, nothing, [](ContextOptions& options, Identity&) { options.timeout_seconds = 1; });
  HG_EXPECT_EQ(thrown[0].code, Code::kPeer);
  HG_EXPECT_EQ(thrown[0].suspect, 0);
  HG_EXPECT_CONTAINS(thrown[0].message, "rank 0 did not answer at 127.0.0.1 port");
  const auto lost = run_ranks({1}, 2, nothing, [](ContextOptions& options, Identity&) {
    options.timeout_seconds = 1;
    options.address = "no-such-host.invalid";
  });
  HG_EXPECT_CONTAINS(lost[0].message, "no-such-host.invalid");
}

HG_TEST(a_taken_port_says_what_to_set) {
  const test::ReservedPort reserved;
  const int port = reserved.number();
  const Socket other = listen_at("127.0.0.1", port);
  const auto make = [&] {
    Rendezvous rendezvous(options_of(0, 2, port), identify(options_of(0, 2, port), 1));
  };
  const test::Thrown thrown = test::thrown_by(make);
  HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
  HG_EXPECT_CONTAINS(thrown.message, std::to_string(port));
  HG_EXPECT_CONTAINS(thrown.message, "HIRGEN_PORT");
}

HG_TEST(strangers_do_not_disturb) {
  const test::ReservedPort reserved;
  const int port = reserved.number();
  std::vector<test::Thrown> thrown(2);
  std::thread zero([&] {
    const ContextOptions options = options_of(0, 2, port);
    thrown[0] = test::thrown_by([&] { Rendezvous r(options, identify(options, 1)); });
  });
  const Socket http = connect_to("127.0.0.1", port, after(2));
  const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  http.send(request.data(), request.size(), after(1));
  connect_to("127.0.0.1", port, after(2));  // sends nothing and closes
  ContextOptions foreign = options_of(1, 2, port);
  foreign.job = "another job";
  const test::Thrown turned_away =
      test::thrown_by([&] { Rendezvous r(foreign, identify(foreign, 1)); });
  HG_EXPECT_CONTAINS(turned_away.message, "another job's rank 0");
  const ContextOptions one = options_of(1, 2, port);
  thrown[1] = test::thrown_by([&] { Rendezvous r(one, identify(one, 1)); });
  zero.join();
  HG_EXPECT_EQ(thrown[0].message, "");
  HG_EXPECT_EQ(thrown[1].message, "");
}

HG_TEST(a_rank_that_goes_is_missed_by_all) {
  const auto thrown = run_ranks(
      {0, 1, 2}, 3,
      [](Rendezvous& rendezvous, int rank) {
        rendezvous.barrier("first");
        if (rank == 2) return;  // closes its connection
        rendezvous.barrier("second");
      },
      unchanged);
  HG_EXPECT_CONTAINS(thrown[0].message, "rank 2 closed its connection during 'second'");
  HG_EXPECT_EQ(thrown[0].suspect, 2);
  HG_EXPECT_EQ(thrown[1].code, Code::kPeer);  // rank 0 closed its connection
  HG_EXPECT_EQ(thrown[2].message, "");
}

HG_TEST(a_rank_that_does_not_come_is_waited_for_no_longer_than_the_deadline) {
  const auto thrown = run_ranks(
      {0, 1}, 2,
      [](Rendezvous& rendezvous, int rank) {
        if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
        if (rank == 0) rendezvous.barrier("alone");
      },
      [](ContextOptions& options, Identity&) { options.timeout_seconds = 1; });
  HG_EXPECT_CONTAINS(thrown[0].message, "rank 1 did not come to 'alone' within 1 s");
}

HG_TEST(ranks_at_different_operations_are_told) {
  const auto thrown = run_ranks(
      {0, 1}, 2,
      [](Rendezvous& rendezvous, int rank) { rendezvous.barrier(rank == 0 ? "left" : "right"); },
      unchanged);
  HG_EXPECT_CONTAINS(thrown[0].message, "rank 1 is at 'right'");
  HG_EXPECT_EQ(thrown[0].code, Code::kInternal);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
