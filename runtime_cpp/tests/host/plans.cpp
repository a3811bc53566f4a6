// Tests of choices of algorithms: the file, the offers that ranks have in common, and the search.
#include "gemm/plan_file.hpp"
#include "gemm/search.hpp"
#include "gemm/tune_offer.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

std::string bytes(unsigned char byte) { return std::string(64, static_cast<char>(byte)); }

GemmAlgorithm algorithm(unsigned char byte) { return {"cuBLASLt", bytes(byte)}; }

PlanChoice choice(const char* gemm, const char* gpu, int64_t version, unsigned char byte) {
  PlanChoice made;
  made.gemm = gemm;
  made.scope = {gpu, "cuBLASLt", version};
  made.bytes = bytes(byte);
  made.workspace_bytes = 4096;
  made.attributes = {{"tile", 66}, {"id", 1}};
  made.measured = {"ag_matmul", 8, 24, 2e-3, 1.5e-3};
  return made;
}

std::string parse_failure(const std::string& text) {
  const test::Thrown thrown = test::thrown_by([&] { parse_plans("p.json", text); });
  HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
  return thrown.message;
}

/// `text` with the first occurrence of a part replaced.
std::string with_change(std::string text, const std::string& part, const std::string& other) {
  const size_t place = text.find(part);
  HG_EXPECT(place != std::string::npos);
  return text.replace(place, part.size(), other);
}

HG_TEST(choices_survive_their_file) {
  const std::vector<PlanChoice> written{choice("C[1, 2]", "NVIDIA \"X\"", 130002, 0xA5),
                                        choice("C[3, 4]", "NVIDIA Y", 130100, 0x01)};
  const std::vector<PlanChoice> read = parse_plans("p.json", plans_text(written));
  HG_EXPECT_EQ(read.size(), 2U);
  const PlanChoice& first = read.front();
  HG_EXPECT(first.rivals(written.front()) && !first.rivals(written.back()));
  HG_EXPECT(first.scope == written.front().scope && first.bytes == bytes(0xA5));
  HG_EXPECT_EQ(first.workspace_bytes, 4096);
  HG_EXPECT(first.attributes == written.front().attributes);  // in the same order
  HG_EXPECT_EQ(first.measured.program, "ag_matmul");
  HG_EXPECT_EQ(first.measured.ranks, 8);
  HG_EXPECT_EQ(first.measured.candidates, 24);
  HG_EXPECT_EQ(plans_text(read), plans_text(written));
}

HG_TEST(corrupt_files_of_choices_are_refused_at_their_place) {
  const std::string good = plans_text({choice("C[1, 2]", "X", 1, 0xA5)});
  HG_EXPECT_CONTAINS(parse_failure("{\n  \"hirgen_plans\": 3,\n"), "p.json:3:1: ");
  HG_EXPECT_CONTAINS(parse_failure("[]"), "p.json:1:1: the file must be an object");
  HG_EXPECT_CONTAINS(parse_failure("{}"), "p.json:1:1: no member \"hirgen_plans\" here");
  HG_EXPECT_CONTAINS(parse_failure(with_change(good, "\"hirgen_plans\": 3", "\"hirgen_plans\": 1")),
                     "p.json:2:19: version 1 of plan files; this program reads version 3");
  HG_EXPECT_CONTAINS(parse_failure(with_change(good, "a5a5", "a5g5")),
                     "\"algorithm\" must be hexadecimal digits, two for each byte");
  HG_EXPECT_CONTAINS(parse_failure(with_change(good, "a5a5", "a5a")), "p.json:9:20: \"algorithm\"");
  HG_EXPECT_CONTAINS(parse_failure(with_change(good, "\"version\": 1", "\"version\": 1.5")),
                     "\"version\" must be a whole number");
  HG_EXPECT_CONTAINS(parse_failure(with_change(good, "\"gpu\": \"X\"", "\"gpu\": 7")),
                     "p.json:6:14: \"gpu\" must be a string");
  HG_EXPECT_CONTAINS(parse_failure(plans_text({choice("C", "X", 1, 1), choice("C", "X", 1, 2)})),
                     "a second choice for C on X, cuBLASLt 1");
}

HG_TEST(merging_replaces_rivals_alone) {
  std::vector<PlanChoice> known{choice("C", "X", 1, 1), choice("C", "Y", 1, 2)};
  merge_plans(&known, {choice("C", "Y", 1, 3), choice("C", "Y", 2, 4)});
  HG_EXPECT_EQ(known.size(), 3U);
  HG_EXPECT(known[0].bytes == bytes(1) && known[1].bytes == bytes(3) && known[2].bytes == bytes(4));
  // The new choice, of the library "other", replaces the choice of cuBLASLt: a program with both
  // libraries could not choose between the two.
  PlanChoice other = choice("C", "Y", 7, 5);
  other.scope.library = "other";
  merge_plans(&known, {other});
  HG_EXPECT_EQ(known.size(), 2U);
  HG_EXPECT(known[0].bytes == bytes(1) && known[1].scope == other.scope);
}

HG_TEST(a_file_that_is_not_there_is_named) {
  const test::Thrown thrown = test::thrown_by([] { read_plans("/nonexistent/plans.json"); });
  HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
  HG_EXPECT_CONTAINS(thrown.message, "/nonexistent/plans.json");
}

HG_TEST(attributes_are_told_in_few_words) {
  const AlgorithmAttributes attributes{{"id", 0}, {"tile", 20}, {"stages", 0}, {"split_k", 1}};
  HG_EXPECT_EQ(attributes_text(attributes), "id 0 tile 20 split_k 1");
}

Offer offer(std::vector<GemmOffer> gemms) { return {{{"X", "cuBLASLt", 1}}, std::move(gemms)}; }

/// The last byte of each common algorithm, by GEMM ("P 01 03;Q 04;"), then the problem, if there is
/// one.
std::string common(const std::vector<Offer>& offers) {
  std::vector<Offer> sent;
  for (const Offer& own : offers) sent.push_back(decode_offer(encode(own)));
  std::string problem;
  std::string text;
  for (const GemmOffer& gemm : common_offers(sent, &problem)) {
    text += gemm.gemm;
    for (const auto& own : gemm.algorithms) text += " " + hex_of(own.bytes).substr(126);
    text += ";";
  }
  return text + problem;
}

HG_TEST(ranks_search_among_what_all_have) {
  const GemmOffer all{"P", {algorithm(1), algorithm(2), algorithm(3)}};
  const GemmOffer fewer{"P", {algorithm(3), algorithm(1)}};
  const GemmOffer other{"Q", {algorithm(4)}};
  HG_EXPECT_EQ(common({offer({all, other}), offer({fewer, other})}), "P 01 03;Q 04;");
  HG_EXPECT_EQ(common({offer({fewer}), offer({all, other})}), "P 03 01;");
  HG_EXPECT_EQ(common({offer({all}), offer({{"P", {algorithm(9)}}})}), "");
  HG_EXPECT_EQ(common({offer({all})}), "P 01 02 03;");
  const Offer foreign{{{"Y", "cuBLASLt", 1}}, {all}};
  HG_EXPECT_EQ(common({offer({all}), offer({all}), foreign}),
               "nothing is tuned: rank 2 has Y, cuBLASLt 1 and rank 0 has X, cuBLASLt 1");
  const Offer more{{{"X", "cuBLASLt", 1}, {"X", "other", 7}}, {all}};
  HG_EXPECT_EQ(common({offer({all}), more}),
               "nothing is tuned: rank 1 has X, cuBLASLt 1, other 7 and rank 0 has X, cuBLASLt 1");
  const GemmOffer theirs{"P", {{"other", bytes(1)}, algorithm(2)}};
  HG_EXPECT_EQ(common({offer({all}), offer({theirs})}), "P 02;");
}

HG_TEST(an_algorithm_is_offered_once) {
  GemmOffer mine{"P", {}};
  for (const unsigned char byte : {1, 2, 1}) mine.add(algorithm(byte));
  HG_EXPECT_EQ(mine.algorithms.size(), 2U);
}

/// Candidates that take `seconds`. The measured time of sample n, counted from 0, is the true time
/// times (1 + drift * n) times (1 + noise). Noise is pseudorandom, between -scatter and scatter,
/// and the same in every run.
struct Bench {
  std::vector<double> seconds;
  double drift = 0, scatter = 0;
  int samples = 0;
  uint32_t random = 1;

  std::vector<double> round(const std::vector<int>& order) {
    std::vector<double> seen;
    for (const int candidate : order) {
      random = random * 1664525 + 1013904223;
      const double noise = scatter * (static_cast<double>(random >> 8) / (1 << 23) - 1);
      seen.push_back(seconds[static_cast<size_t>(candidate)] * (1 + drift * samples++) *
                     (1 + noise));
    }
    return seen;
  }
  SearchResult search() {
    return search_fastest(static_cast<int>(seconds.size()),
                          [this](const std::vector<int>& order) { return round(order); });
  }
};

HG_TEST(the_fastest_is_found) {
  std::vector<double> seconds(24, 1.0);
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += 0.01 * static_cast<double>(i % 5);
  for (const size_t best : {1, 11, 23}) {
    Bench bench{seconds};
    bench.seconds[best] = 0.98;
    const SearchResult found = bench.search();
    HG_EXPECT_EQ(found.best, static_cast<int>(best));
    HG_EXPECT_EQ(found.default_seconds, 1.0);
    HG_EXPECT_EQ(found.best_seconds, 0.98);
    HG_EXPECT(bench.samples < 150);
  }
}

HG_TEST(a_gain_within_the_noise_is_none) {
  Bench close{{1.0, 0.996, 1.0}};
  HG_EXPECT_EQ(close.search().best, 0);
  Bench noisy{std::vector<double>(24, 1.0)};
  noisy.scatter = 0.02;
  HG_EXPECT_EQ(noisy.search().best, 0);
  Bench alone{{1.0}};
  HG_EXPECT_EQ(alone.search().best, 0);
  HG_EXPECT_EQ(alone.search().best_seconds, 1.0);
}

// With each sample, times grow by 0.3 % of the true time. If all samples of one candidate came
// before those of the next, the first candidates would win.
HG_TEST(a_clock_that_drifts_does_not_choose) {
  Bench bench{std::vector<double>(8, 1.0)};
  bench.drift = 0.003;
  bench.seconds[7] = 0.97;
  HG_EXPECT_EQ(bench.search().best, 7);
  Bench even{std::vector<double>(8, 1.0)};
  even.drift = 0.003;
  HG_EXPECT_EQ(even.search().best, 0);
}

HG_TEST(noise_does_not_hide_a_gain) {
  Bench bench{std::vector<double>(16, 1.0)};
  bench.scatter = 0.01;
  bench.seconds[9] = 0.95;
  HG_EXPECT_EQ(bench.search().best, 9);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
