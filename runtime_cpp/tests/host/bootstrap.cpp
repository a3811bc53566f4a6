// Tests of the start of a job with foreign connections, all on the loopback interface: silent, slow
// and hostile connections to rank 0's port, a port where another process listens, and connections
// that the job's secret rejects.
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/text.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "test.hpp"
#include "test_ranks.hpp"
#include "test_threads.hpp"

namespace hirgen {
namespace {

using test::options_of;
using test::ReservedPort;
using test::Thrown;

const std::string kSecret = "a secret of this job";

// kFar is a timeout in seconds that no start may reach. kPatience is the longest time in seconds
// that a start may take, even on a loaded machine.
constexpr double kFar = 20;
constexpr double kPatience = 10;

ContextOptions patient(int rank, int world, int port) {
  ContextOptions options = options_of(rank, world, port);
  options.timeout_seconds = kFar;
  return options;
}

/// The result of one rank's start.
struct Start {
  Thrown thrown;
  double seconds = 0;
};

Start start(const ContextOptions& options) {
  const auto begin = Clock::now();
  Start result;
  result.thrown = test::thrown_by([&] { Rendezvous r(options, identify(options, 1)); });
  result.seconds = seconds_since(begin);
  return result;
}

std::future<Start> start_beside(const ContextOptions& options) {
  return std::async(std::launch::async, [options] { return start(options); });
}

Socket stranger(int port) { return connect_to("127.0.0.1", port, after(5)); }

/// Starts a world of two, rank 1 after the strangers connected; both ranks must start.
void expect_start_after(const std::function<void(int port)>& strangers) {
  const ReservedPort port;
  auto zero = start_beside(patient(0, 2, port.number()));
  strangers(port.number());
  const Start one = start(patient(1, 2, port.number()));
  HG_EXPECT_EQ(one.thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
  HG_EXPECT(one.seconds < kPatience);
}

/// Starts a world of two whose rank 1 never comes, while the strangers connect; rank 0 must fail at
/// its deadline.
void expect_deadline_with(
    const std::function<void(int port, const std::atomic<bool>&)>& strangers) {
  const ReservedPort port;
  ContextOptions options = patient(0, 2, port.number());
  options.timeout_seconds = 2;
  auto zero = start_beside(options);
  std::atomic<bool> over{false};
  std::thread others([&] { strangers(port.number(), over); });
  const Start result = zero.get();
  over = true;
  others.join();
  HG_EXPECT_CONTAINS(result.thrown.message, "missing rank 1");
  test::expect(result.seconds < 5, format("it took %g s", result.seconds), __FILE__, __LINE__);
}

HG_TEST(silent_connections_do_not_put_off_the_deadline) {
  expect_deadline_with([](int port, const std::atomic<bool>& over) {
    std::vector<Socket> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(stranger(port));
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
}

HG_TEST(slow_connections_do_not_put_off_the_deadline) {
  expect_deadline_with([](int port, const std::atomic<bool>& over) {
    Header header;
    header.tag = 1;
    header.size = 1000;
    const std::string hello = Writer().put(header).bytes() + std::string(1000, 'x');
    std::vector<Socket> slow;
    for (int i = 0; i < 8; ++i) slow.push_back(stranger(port));
    for (size_t sent = 0; !over; ++sent) {
      for (const Socket& socket : slow) socket.send(&hello[sent % hello.size()], 1, after(0));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
}

HG_TEST(new_connections_without_end_do_not_put_off_the_deadline) {
  expect_deadline_with([](int port, const std::atomic<bool>& over) {
    const std::string request = "GET / HTTP/1.1\r\n\r\n";
    for (int i = 0; i < 20'000 && !over; ++i) {
      try {
        const Socket one = connect_to("127.0.0.1", port, after(0.1));
        one.send(request.data(), request.size(), after(0));
      } catch (const Error&) {
        return;  // rank 0 has ended
      }
    }
  });
}

HG_TEST(a_rank_gets_in_after_garbage) {
  expect_start_after([](int port) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kHandshakeLimit, kHandshakeLimit + 1,
                                uint64_t{1} << 63, ~uint64_t{0}}) {
      Header header;
      header.tag = kHelloData;
      header.size = size;
      std::string bytes = Writer().put(header).bytes();
      bytes += std::string(std::min<uint64_t>(size, 100'000), '\xff');
      stranger(port).send(bytes.data(), bytes.size(), after(1));
    }
    const std::string noise(4000, '\x5a');
    stranger(port).send(noise.data(), noise.size(), after(1));
    stranger(port).send(noise.data(), 3, after(1));
  });
}

HG_TEST(a_rank_gets_in_beside_more_silent_connections_than_are_kept) {
  std::vector<Socket> silent;
  expect_start_after([&](int port) {
    for (int i = 0; i < 400; ++i) silent.push_back(stranger(port));
  });
}

HG_TEST(a_rank_gets_in_after_thousands_that_come_and_go) {
  expect_start_after([](int port) {
    for (int i = 0; i < 3000; ++i) stranger(port);
  });
}

HG_TEST(a_rank_gets_in_while_others_come_and_go) {
  const ReservedPort port;
  std::atomic<bool> over{false};
  auto zero = start_beside(patient(0, 2, port.number()));
  std::vector<std::thread> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.emplace_back([&] {
      for (int sent = 0; sent < 5000 && !over; ++sent) {
        try {
          connect_to("127.0.0.1", port.number(), after(0.1));
        } catch (const Error&) {
          return;
        }
      }
    });
  }
  const Start one = start(patient(1, 2, port.number()));
  HG_EXPECT_EQ(one.thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
  over = true;
  for (std::thread& thread : crowd) thread.join();
}

ContextOptions with_secret(ContextOptions options, const std::string& secret) {
  options.secret = secret;
  return options;
}

HG_TEST(ranks_with_the_secret_meet) {
  const ReservedPort port;
  auto zero = start_beside(with_secret(patient(0, 3, port.number()), kSecret));
  auto one = start_beside(with_secret(patient(1, 3, port.number()), kSecret));
  HG_EXPECT_EQ(start(with_secret(patient(2, 3, port.number()), kSecret)).thrown.message, "");
  HG_EXPECT_EQ(one.get().thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
}

HG_TEST(a_rank_without_the_secret_is_refused_and_the_real_one_gets_in) {
  const ReservedPort port;
  auto zero = start_beside(with_secret(patient(0, 2, port.number()), kSecret));
  for (const char* secret : {"", "another secret", "a secret of this jo"}) {
    const Start wrong = start(with_secret(patient(1, 2, port.number()), secret));
    HG_EXPECT_EQ(wrong.thrown.code, Code::kEnvironment);
    HG_EXPECT_CONTAINS(wrong.thrown.message, "HIRGEN_JOB_SECRET");
    HG_EXPECT(wrong.seconds < kPatience);
  }
  HG_EXPECT_EQ(start(with_secret(patient(1, 2, port.number()), kSecret)).thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
}

HG_TEST(rank_zero_says_that_it_refused_somebody) {
  const ReservedPort port;
  ContextOptions options = with_secret(patient(0, 2, port.number()), kSecret);
  options.timeout_seconds = 1;
  auto zero = start_beside(options);
  HG_EXPECT_CONTAINS(start(patient(1, 2, port.number())).thrown.message, "which has none");
  const std::string message = zero.get().thrown.message;
  HG_EXPECT_CONTAINS(message, "1 connection without this job's secret was refused");
  HG_EXPECT_CONTAINS(message, "127.0.0.1");
}

/// Passes bytes from `here` to `there` until either connection ends, and appends them to `noted`,
/// unless it is null.
void relay(const Socket& here, const Socket& there, std::string* noted) {
  char bytes[4096];
  while (true) {
    size_t received = 0;
    const Io io = here.receive_some(bytes, sizeof(bytes), &received);
    if (io == Io::kClosed || there.send(bytes, received, after(1)) != Io::kDone) return;
    if (noted != nullptr) noted->append(bytes, received);
    if (io == Io::kTimeout) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Starts a job of two whose rank 1 connects through an eavesdropper. Returns the bytes that rank 1
/// sent on each of its two connections.
std::vector<std::string> eavesdrop(const std::string& secret) {
  const ReservedPort inner;
  const ReservedPort outer;
  auto zero = start_beside(with_secret(patient(0, 2, inner.number()), secret));
  const Socket listener = listen_at("127.0.0.1", outer.number());
  auto one = start_beside(with_secret(patient(1, 2, outer.number()), secret));
  std::vector<std::string> sent(2);
  std::vector<Socket> sockets(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    Socket& rank = sockets[2 * i];
    Socket& zero_side = sockets[2 * i + 1];
    for (int error = 0; !rank.valid();) rank = accept_waiting(listener, &error);
    zero_side = stranger(inner.number());
    threads.emplace_back([&, i] { relay(sockets[2 * i], sockets[2 * i + 1], &sent[i]); });
    threads.emplace_back([&, i] { relay(sockets[2 * i + 1], sockets[2 * i], nullptr); });
  }
  HG_EXPECT_EQ(one.get().thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
  for (std::thread& thread : threads) thread.join();
  return sent;
}

/// Expects that rank 0 refuses a replay of the bytes of an earlier job, even with the same secret.
void expect_replay_refused(const std::string& secret) {
  const std::vector<std::string> sent = eavesdrop(secret);
  HG_EXPECT(sent[0].find("test") != std::string::npos);
  if (!secret.empty()) HG_EXPECT(sent[0].find(secret) == std::string::npos);
  const ReservedPort port;
  auto zero = start_beside(with_secret(patient(0, 2, port.number()), secret));
  std::vector<Socket> replayed;
  for (const std::string& bytes : sent) {
    replayed.push_back(stranger(port.number()));
    replayed.back().send(bytes.data(), bytes.size(), after(1));
    uint32_t tag = 0;
    std::string payload;
    receive_message(replayed.back(), kHandshakeLimit, &tag, &payload, after(1));
    HG_EXPECT_EQ(tag, static_cast<uint32_t>(kChallenge));
    receive_message(replayed.back(), kHandshakeLimit, &tag, &payload, after(1));
    HG_EXPECT_EQ(tag, static_cast<uint32_t>(kRefusal));
  }
  HG_EXPECT_EQ(start(with_secret(patient(1, 2, port.number()), secret)).thrown.message, "");
  HG_EXPECT_EQ(zero.get().thrown.message, "");
}

HG_TEST(a_replayed_hello_is_refused_and_the_real_rank_gets_in) {
  expect_replay_refused(kSecret);
  expect_replay_refused("");
}

/// The result of rank 1's start against a false rank 0, which calls `serve` for each connection.
Start meet_false_rank_zero(const std::function<void(const Socket&)>& serve, double timeout) {
  const ReservedPort port;
  const Socket listener = listen_at("127.0.0.1", port.number());
  std::atomic<bool> over{false};
  std::thread other([&] {
    std::vector<Socket> kept;
    while (!over) {
      int error = 0;
      Socket socket = accept_waiting(listener, &error);
      if (socket.valid()) serve(socket);
      if (socket.valid()) kept.push_back(std::move(socket));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  ContextOptions options = with_secret(patient(1, 2, port.number()), kSecret);
  options.timeout_seconds = timeout;
  const Start result = start(options);
  over = true;
  other.join();
  return result;
}

HG_TEST(a_false_rank_zero_is_not_believed) {
  for (const HandshakeTag answer : {kWelcome, kAdmission, kHelloData}) {
    const auto pretend = [&](const Socket& socket) {
      const std::string challenge(32, 'c');
      send_message(socket, kChallenge, challenge, after(1));
      uint32_t tag = 0;
      std::string hello;
      receive_message(socket, kHandshakeLimit, &tag, &hello, after(1));
      // The only proof that the false rank 0 can send is the one that it received from rank 1.
      const std::string proof = hello.size() < 64 ? "" : hello.substr(32, 32);
      send_message(socket, answer, proof, after(1));
    };
    const Start result = meet_false_rank_zero(pretend, kFar);
    HG_EXPECT_EQ(result.thrown.code, Code::kEnvironment);
    HG_EXPECT_CONTAINS(result.thrown.message, "does not know this job's secret");
    HG_EXPECT(result.seconds < kPatience);
  }
}

HG_TEST(a_silent_or_babbling_rank_zero_is_left_at_the_deadline) {
  const auto silent = [](const Socket&) {};
  const auto babble = [](const Socket& socket) {
    const std::string banner = "220 mail.example.org\r\n";
    socket.send(banner.data(), banner.size(), after(1));
  };
  for (const auto& serve :
       {std::function<void(const Socket&)>(silent), std::function<void(const Socket&)>(babble)}) {
    const Start result = meet_false_rank_zero(serve, 1);  // rank 1 waits kPatienceSeconds longer
    HG_EXPECT_EQ(result.thrown.code, Code::kPeer);
    HG_EXPECT_EQ(result.thrown.suspect, 0);
    HG_EXPECT(result.seconds < 6);
  }
}

HG_TEST(a_secret_can_be_required) {
  for (const int rank : {0, 1}) {
    ContextOptions options = options_of(rank, 2, 1);
    options.require_secret = true;
    const Start result = start(options);
    HG_EXPECT_EQ(result.thrown.code, Code::kEnvironment);
    HG_EXPECT_CONTAINS(result.thrown.message, "HIRGEN_JOB_SECRET");
  }
  ContextOptions alone = options_of(0, 1, 0);
  alone.require_secret = true;
  HG_EXPECT_EQ(start(alone).thrown.message, "");
}

HG_TEST(loopback_addresses_are_told_from_names_like_them) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    HG_EXPECT(is_loopback(own));
  }
  for (const char* other : {"", "10.0.0.1", "127.example.org", "node7", "::2"}) {
    HG_EXPECT(!is_loopback(other));
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
