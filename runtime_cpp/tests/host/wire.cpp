// Tests of invalid messages after the start: a long length, a short payload, a peer that never
// stops sending.
#include "bootstrap/wire.hpp"

#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "test.hpp"
#include "watchdog/control_channel.hpp"

namespace hirgen {
namespace {

constexpr uint32_t kHeartbeat = 16;

/// Both ends of a connection.
struct Pair {
  Pair() {
    int fds[2] = {-1, -1};
    HG_EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    here = Socket(fds[0]);
    there = Socket(fds[1]);
  }
  Socket here, there;
};

std::string header_with(uint64_t size) {
  Header header;
  header.tag = kHeartbeat;
  header.size = size;
  return Writer().put(header).bytes();
}

HG_TEST(a_length_is_not_believed_before_the_bytes_come) {
  const Pair pair;
  const std::string bytes = header_with(uint64_t{1} << 39) + "few bytes";
  pair.there.send(bytes.data(), bytes.size(), after(1));
  uint32_t tag = 0;
  std::string payload;
  const Io io = receive_message(pair.here, uint64_t{1} << 40, &tag, &payload, after(0.1));
  HG_EXPECT(io == Io::kTimeout);
  HG_EXPECT(payload.capacity() < size_t{1} << 30);
}

HG_TEST(a_long_message_comes_whole) {
  const Pair pair;
  std::string sent;
  sent.resize(40'000'000, 'x');
  for (size_t i = 0; i < sent.size(); i += 1000) sent[i] = static_cast<char>(i / 1000);
  std::thread other([&] { send_message(pair.there, 7, sent, after(20)); });
  uint32_t tag = 0;
  std::string payload;
  const Io io = receive_message(pair.here, uint64_t{1} << 40, &tag, &payload, after(20));
  other.join();
  HG_EXPECT(io == Io::kDone && tag == 7 && payload == sent);
}

/// Rank 0's view of rank 1 after it has received these bytes from rank 1.
RankView after_bytes(const std::string& bytes) {
  Pair pair;
  std::vector<Socket> sockets(2);
  sockets[1] = std::move(pair.here);
  ControlChannel channel(0, 2, std::move(sockets));
  pair.there.send(bytes.data(), bytes.size(), after(1));
  std::vector<RankView> ranks(2);
  std::vector<Failure> failures;
  std::optional<Verdict> verdict;
  channel.receive(&ranks, &failures, &verdict);
  return ranks[1];
}

HG_TEST(a_rank_whose_messages_are_broken_is_lost) {
  HG_EXPECT(!after_bytes(header_with(100) + "part of a message").died);
  HG_EXPECT(after_bytes(header_with(3) + "abc").died);
  HG_EXPECT(after_bytes(header_with(~uint64_t{0})).died);
  HG_EXPECT(after_bytes("no header of a message at all").died);
  // A heartbeat whose progress has a text length beyond the end of the message.
  Writer writer;
  writer.put(int64_t{1}).put(int64_t{1}).put(int64_t{1}).put(uint64_t{1}).put(~uint64_t{0});
  HG_EXPECT(after_bytes(header_with(writer.bytes().size()) + writer.bytes()).died);
}

// If poll() fails, a transfer ends as closed: the failure does not show that the deadline has
// passed.
HG_TEST(a_transfer_that_cannot_wait_ends) {
  const Pair pair;
  const test::FileLimit none(0);
  char byte = 0;
  HG_EXPECT(pair.here.receive(&byte, 1, after(0.2)) == Io::kClosed);
  const std::string more(4 << 20, 'x');  // more than the buffers hold
  HG_EXPECT(pair.here.send(more.data(), more.size(), after(0.2)) == Io::kClosed);
}

// The watchdog goes on if its poll() fails, without using a whole processor.
HG_TEST(a_failed_wait_for_messages_takes_its_time) {
  Pair pair;
  std::vector<Socket> sockets(2);
  sockets[1] = std::move(pair.here);
  const ControlChannel channel(0, 2, std::move(sockets));
  const test::FileLimit none(0);
  const auto start = Clock::now();
  channel.wait(-1, 50);
  HG_EXPECT(seconds_since(start) >= 0.05);
}

HG_TEST(a_rank_that_never_stops_sending_holds_nobody_up) {
  Pair pair;
  std::vector<Socket> sockets(2);
  sockets[1] = std::move(pair.here);
  ControlChannel channel(0, 2, std::move(sockets));
  std::atomic<bool> over{false};
  std::thread other([&] {
    const std::string bytes(64 << 10, '\0');
    while (!over) pair.there.send(bytes.data(), bytes.size(), after(0.01));
  });
  std::vector<RankView> ranks(2);
  std::vector<Failure> failures;
  std::optional<Verdict> verdict;
  const auto start = Clock::now();
  while (!ranks[1].died && seconds_since(start) < 5) channel.receive(&ranks, &failures, &verdict);
  over = true;
  other.join();
  HG_EXPECT(ranks[1].died);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
