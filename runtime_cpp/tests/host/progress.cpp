// Tests of the verdict over all ranks, which names the rank at fault.
#include "watchdog/progress.hpp"

#include "test.hpp"
#include "watchdog/device_monitor.hpp"

namespace hirgen {
namespace {

constexpr double kTimeout = 10;

RankView at(int64_t begun, int64_t issued, uint64_t statements = 0) {
  RankView view;
  view.progress = {begun, issued, issued, statements, "spec.yaml:3:1 gather"};
  return view;
}

Failure report(int reporter, Code code, int suspect = -1) {
  return {reporter, suspect, code, "rank " + std::to_string(reporter) + " saw it"};
}

HG_TEST(a_dead_rank_is_to_blame_before_all_others) {
  std::vector<RankView> ranks{at(4, 4), at(4, 3), at(4, 4)};
  ranks[2].died = true;
  ranks[1].silent_seconds = 100;
  const Verdict verdict = judge(ranks, {report(0, Code::kDevice)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, 2);
  HG_EXPECT_EQ(exit_code(verdict, 0), Code::kPeer);
  HG_EXPECT_CONTAINS(verdict.text, "rank 2 died");
  HG_EXPECT_CONTAINS(verdict.text, "after call 4 at spec.yaml:3:1 gather");
}

HG_TEST(a_rank_that_left_in_order_did_not_die) {
  std::vector<RankView> ranks{at(4, 4), at(4, 4)};
  ranks[1].died = ranks[1].left = true;
  HG_EXPECT_EQ(judge(ranks, {}, kTimeout).culprit, -1);
}

HG_TEST(a_failure_of_its_own_keeps_its_code) {
  const Verdict verdict =
      judge({at(1, 1), at(1, 1), at(1, 1)},
            {report(0, Code::kTimeout), report(2, Code::kEnvironment)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, 2);
  HG_EXPECT_EQ(exit_code(verdict, 2), Code::kEnvironment);
  HG_EXPECT_EQ(exit_code(verdict, 1), Code::kPeer);
}

HG_TEST(the_most_silent_rank_has_stalled) {
  std::vector<RankView> ranks{at(4, 4), at(4, 3), at(4, 4)};
  ranks[0].silent_seconds = 3;
  ranks[2].silent_seconds = 5;
  const Verdict verdict = judge(ranks, {report(1, Code::kTimeout)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, 2);
  HG_EXPECT_EQ(exit_code(verdict, 2), Code::kTimeout);
}

HG_TEST(the_only_rank_behind_has_stalled) {
  const std::vector<RankView> ranks{at(4, 4), at(4, 3, 9), at(4, 4)};
  const Verdict verdict = judge(ranks, {report(0, Code::kTimeout)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, 1);
  HG_EXPECT_CONTAINS(verdict.text, "in call 4 at");
  // Within one call, the rank with the fewest issued statements is at fault.
  HG_EXPECT_EQ(judge({at(4, 3, 9), at(4, 3, 9), at(4, 3, 8)}, {}, kTimeout).culprit, 2);
}

HG_TEST(nobody_is_blamed_when_all_wait_alike) {
  const Verdict verdict = judge({at(4, 4), at(4, 4)}, {report(1, Code::kTimeout)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, -1);
  HG_EXPECT_EQ(exit_code(verdict, 0), Code::kTimeout);
  HG_EXPECT_EQ(judge({at(4, 3), at(4, 3), at(4, 4)}, {}, kTimeout).culprit, -1);
}

HG_TEST(a_suspect_is_blamed_before_who_is_behind) {
  const Verdict verdict =
      judge({at(4, 4), at(4, 4), at(4, 3)}, {report(0, Code::kPeer, 1)}, kTimeout);
  HG_EXPECT_EQ(verdict.culprit, 1);
}

HG_TEST(a_stuck_call_waits_for_what_its_host_used_first) {
  const Incomplete sliced{"sliced", "", 8, {4, 5}, 4, 40};
  const Incomplete gathered{"gathered", "", 8, {3, 4, 5}, 3, 32};
  const Incomplete done{"done", "", 4, {1, 3}, 3, 33};
  HG_EXPECT_EQ(first_incomplete({sliced, gathered, done}).name, "gathered");
  HG_EXPECT_EQ(first_incomplete({sliced, done}).first, 3);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
