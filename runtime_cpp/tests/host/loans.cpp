// What the watchdog finds missing of the loans of a call, from words that a test writes.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/error.hpp"
#include "hirgen/loan_book.hpp"
#include "test.hpp"
#include "watchdog/device_monitor.hpp"

namespace hirgen {
namespace {

constexpr const char* kWhere = "a.yaml:1:1 sharing A with the other ranks";
constexpr double kSeconds = 5;

/// A buffer of 3 transfers. In transfer 1 this rank lends to rank 4 and copies from rank 5, in
/// transfer 2 it does so with ranks 6 and 7; transfer 0 is nobody's.
class Loans {
 public:
  Loans() {
    HG_CHECK(cudaMalloc(&words_, kWords * sizeof(uint32_t)), kWhere);
    book = std::make_shared<LoanBook>("A", kWhere, 3, words_, kWords);
    write(std::vector<uint32_t>(kWords, 0));
    monitor.watch(book);
    book->returns[1].peer = 4;
    book->lends[1].peer = 5;
    book->returns[2].peer = 6;
    book->lends[2].peer = 7;
  }
  ~Loans() {
    book->close();
    static_cast<void>(cudaFree(words_));
  }

  /// The host waits for all of call `number`.
  void await(int64_t number) {
    for (const size_t i : {1, 2}) {
      book->lends[i].awaited = number;
      book->returns[i].awaited = number;
    }
  }
  void write(const std::vector<uint32_t>& words) {
    HG_CHECK(
        cudaMemcpy(words_, words.data(), words.size() * sizeof(uint32_t), cudaMemcpyHostToDevice),
        kWhere);
    HG_CHECK(cudaDeviceSynchronize(), kWhere);  // the copy may come after the call returns
  }

  /// "lend 5 7, return 4": what is missing of a call.
  std::string missing(int64_t call) {
    const auto loans = monitor.ask_missing_loans(call, kSeconds);
    if (!loans) return "no answer";
    std::string text;
    for (const MissingLoan& loan : *loans) {
      HG_EXPECT_EQ(loan.name, "A");
      HG_EXPECT_EQ(loan.where, kWhere);
      text += text.empty() ? "" : ", ";
      text += loan.returned ? "return" : "lend";
      for (const int64_t rank : loan.ranks) text += " " + std::to_string(rank);
    }
    return text;
  }

  static constexpr int64_t kWords = 10;
  DeviceMonitor monitor{0};
  std::shared_ptr<LoanBook> book;

 private:
  uint32_t* words_ = nullptr;
};

HG_TEST(words_that_are_behind_name_their_peers) {
  Loans loans;
  loans.book->begin_call(1, 1);
  loans.await(1);
  HG_EXPECT_EQ(loans.missing(1), "lend 5 7, return 4 6");
  loans.write({0, 1, 0, 0, 0, 1});
  HG_EXPECT_EQ(loans.missing(1), "lend 7, return 4");
  loans.write({0, 1, 1, 0, 2, 1});  // a peer may be further
  HG_EXPECT_EQ(loans.missing(1), "");
}

HG_TEST(words_that_nobody_waits_for_yet_are_not_missing) {
  Loans loans;
  HG_EXPECT_EQ(loans.missing(1), "");
  loans.book->begin_call(1, 1);
  HG_EXPECT_EQ(loans.missing(1), "");
  loans.book->lends[2].awaited = 1;
  HG_EXPECT_EQ(loans.missing(1), "lend 7");
  loans.await(1);
  loans.write({0, 1, 1, 0, 1, 1});
  loans.book->begin_call(2, 2);
  HG_EXPECT_EQ(loans.missing(2), "");
  loans.book->returns[1].awaited = 2;
  HG_EXPECT_EQ(loans.missing(2), "return 4");
}

// The oldest call counts, however far ahead the host is; the buffer may be that of other calls.
HG_TEST(the_words_of_the_call_that_is_asked_for_count) {
  Loans loans;
  loans.book->begin_call(7, 1);
  loans.book->begin_call(9, 2);
  loans.book->begin_call(10, 3);
  loans.await(3);
  loans.write({0, 2, 1, 0, 2, 2});
  HG_EXPECT_EQ(loans.missing(8), "");
  HG_EXPECT_EQ(loans.missing(9), "lend 7");
  HG_EXPECT_EQ(loans.missing(10), "lend 5 7, return 4 6");
  for (int64_t call = 11; call <= 9 + Events::kCalls; ++call) {
    loans.book->begin_call(call, static_cast<uint32_t>(call - 7));
  }
  HG_EXPECT_EQ(loans.missing(9), "");
}

HG_TEST(numbers_of_calls_wrap_around) {
  Loans loans;
  loans.book->begin_call(1, UINT32_MAX);
  loans.book->begin_call(2, 0);
  loans.await(0);
  loans.write({0, UINT32_MAX, 0, 0, UINT32_MAX, UINT32_MAX - 1});
  HG_EXPECT_EQ(loans.missing(1), "return 6");
  HG_EXPECT_EQ(loans.missing(2), "lend 5, return 4 6");
}

HG_TEST(the_device_may_count_the_calls) {
  Loans loans;
  loans.book->begin_captured();
  loans.await(0);
  HG_EXPECT_EQ(loans.missing(1), "");  // the graph has not begun
  loans.write({0, 4, 5, 0, 5, 4, 0, 0, 0, 5});
  HG_EXPECT_EQ(loans.missing(8), "lend 5, return 6");
}

HG_TEST(words_that_are_freed_are_not_read) {
  Loans loans;
  loans.book->begin_call(1, 1);
  loans.await(1);
  loans.book->close();
  HG_EXPECT_EQ(loans.missing(1), "");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
