// Tests of the watchdog's search for missing flags. A test writes flags, and checks which of them
// are missing in a call.
#include "hirgen/flag_waits.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/error.hpp"
#include "test.hpp"
#include "watchdog/device_monitor.hpp"

namespace hirgen {
namespace {

constexpr const char* kWhere = "a.yaml:1:1 sharing A with the other ranks";
constexpr double kSeconds = 5;

/// A buffer of 3 transfers. In transfer 1, rank 4 copies from this rank, and this rank copies from
/// rank 5. In transfer 2, the peers are ranks 6 and 7. Transfer 0 has no peers.
class Buffer {
 public:
  explicit Buffer(int64_t rows = 1) {
    HG_CHECK(cudaMalloc(&flags_, kFlags * sizeof(uint32_t)), kWhere);
    waits = std::make_shared<FlagWaits>("A", kWhere, 3, flags_, kFlags, rows);
    write(std::vector<uint32_t>(kFlags, 0));
    monitor.watch(waits);
    waits->done[1].peer = 4;
    waits->ready[1].peer = 5;
    waits->done[2].peer = 6;
    waits->ready[2].peer = 7;
  }
  ~Buffer() {
    waits->close();
    static_cast<void>(cudaFree(flags_));
  }

  /// Notes that the host has issued the waits of transfers 1 and 2 in the call with this sequence
  /// number.
  void await(int64_t sequence) {
    for (const size_t i : {1, 2}) {
      waits->ready[i].awaited = sequence;
      waits->done[i].awaited = sequence;
    }
  }
  void write(const std::vector<uint32_t>& flags) {
    HG_CHECK(
        cudaMemcpy(flags_, flags.data(), flags.size() * sizeof(uint32_t), cudaMemcpyHostToDevice),
        kWhere);
    HG_CHECK(cudaDeviceSynchronize(), kWhere);  // the copy may run after the call returns
  }

  /// The missing flags of a call, with the ranks that write them, and with rows, if the buffer has
  /// several: "ready 5 7, done 4 rows 1".
  std::string missing(int64_t call) {
    const auto found = monitor.ask_missing_flags(call, kSeconds);
    if (!found) return "no answer";
    std::string text;
    for (const MissingFlags& flags : *found) {
      HG_EXPECT_EQ(flags.name, "A");
      HG_EXPECT_EQ(flags.where, kWhere);
      text += text.empty() ? "" : ", ";
      text += flags.done ? "done" : "ready";
      for (const int64_t rank : flags.ranks) text += " " + std::to_string(rank);
      if (!flags.rows.empty()) text += " rows";
      for (const int64_t row : flags.rows) text += " " + std::to_string(row);
    }
    return text;
  }

  static constexpr int64_t kFlags = 10;
  DeviceMonitor monitor{0};
  std::shared_ptr<FlagWaits> waits;

 private:
  uint32_t* flags_ = nullptr;
};

HG_TEST(flags_that_are_behind_name_their_peers) {
  Buffer buffer;
  buffer.waits->begin_call(1, 1);
  buffer.await(1);
  HG_EXPECT_EQ(buffer.missing(1), "ready 5 7, done 4 6");
  buffer.write({0, 1, 0, 0, 0, 1});
  HG_EXPECT_EQ(buffer.missing(1), "ready 7, done 4");
  buffer.write({0, 1, 1, 0, 2, 1});  // a peer may be a call ahead
  HG_EXPECT_EQ(buffer.missing(1), "");
}

// Each row has flags. The first row has the entry of the waits for all of them.
HG_TEST(rows_that_are_behind_are_named) {
  Buffer buffer(3);
  buffer.waits->begin_call(1, 1);
  for (auto* entry : {&buffer.waits->ready[0], &buffer.waits->done[0]}) {
    entry->peer = 5;
    entry->awaited = 1;
  }
  buffer.write({1, 0, 0, 1, 1, 1});
  HG_EXPECT_EQ(buffer.missing(1), "ready 5 rows 1 2");
  buffer.write({1, 1, 1, 1, 0, 1});
  HG_EXPECT_EQ(buffer.missing(1), "done 5 rows 1");
  buffer.write({1, 1, 1, 1, 1, 1});
  HG_EXPECT_EQ(buffer.missing(1), "");
}

HG_TEST(flags_that_nobody_waits_for_yet_are_not_missing) {
  Buffer buffer;
  HG_EXPECT_EQ(buffer.missing(1), "");
  buffer.waits->begin_call(1, 1);
  HG_EXPECT_EQ(buffer.missing(1), "");
  buffer.waits->ready[2].awaited = 1;
  HG_EXPECT_EQ(buffer.missing(1), "ready 7");
  buffer.await(1);
  buffer.write({0, 1, 1, 0, 1, 1});
  buffer.waits->begin_call(2, 2);
  HG_EXPECT_EQ(buffer.missing(2), "");
  buffer.waits->done[1].awaited = 2;
  HG_EXPECT_EQ(buffer.missing(2), "done 4");
}

// Flags are compared with the call that is asked for, also if the host is ahead by fewer than
// Events::kCalls calls. A call that is older, or does not use the buffer, misses no flag.
HG_TEST(the_flags_of_the_call_that_is_asked_for_count) {
  Buffer buffer;
  buffer.waits->begin_call(7, 1);
  buffer.waits->begin_call(9, 2);
  buffer.waits->begin_call(10, 3);
  buffer.await(3);
  buffer.write({0, 2, 1, 0, 2, 2});
  HG_EXPECT_EQ(buffer.missing(8), "");
  HG_EXPECT_EQ(buffer.missing(9), "ready 7");
  HG_EXPECT_EQ(buffer.missing(10), "ready 5 7, done 4 6");
  for (int64_t call = 11; call <= 9 + Events::kCalls; ++call) {
    buffer.waits->begin_call(call, static_cast<uint32_t>(call - 7));
  }
  HG_EXPECT_EQ(buffer.missing(9), "");
}

HG_TEST(sequence_numbers_wrap_around) {
  Buffer buffer;
  buffer.waits->begin_call(1, UINT32_MAX);
  buffer.waits->begin_call(2, 0);
  buffer.await(0);
  buffer.write({0, UINT32_MAX, 0, 0, UINT32_MAX, UINT32_MAX - 1});
  HG_EXPECT_EQ(buffer.missing(1), "done 6");
  HG_EXPECT_EQ(buffer.missing(2), "ready 5, done 4 6");
}

HG_TEST(the_device_may_count_the_calls) {
  Buffer buffer;
  buffer.waits->begin_captured();
  buffer.await(0);
  HG_EXPECT_EQ(buffer.missing(1), "");  // the graph has not begun
  buffer.write({0, 4, 5, 0, 5, 4, 0, 0, 0, 5});
  HG_EXPECT_EQ(buffer.missing(8), "ready 5, done 6");
}

HG_TEST(flags_that_are_freed_are_not_read) {
  Buffer buffer;
  buffer.waits->begin_call(1, 1);
  buffer.await(1);
  buffer.waits->close();
  HG_EXPECT_EQ(buffer.missing(1), "");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
