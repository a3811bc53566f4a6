#include "bootstrap/half_open.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// A connection without a complete hello after this time is dropped. A rank then tries again.
constexpr double kHelloSeconds = 2;
// New connections to accept in one round; between rounds, existing connections are read.
constexpr int kAcceptsPerRound = 32;
// The pause if the system has no file descriptors or memory left; other processes may free some.
constexpr std::chrono::milliseconds kSystemPause(10);

}  // namespace

std::optional<Arrival> HalfOpen::next(Deadline deadline) {
  // Check the deadline first: an endless series of new connections must not hide it.
  while (Clock::now() < deadline) {
    if (!arrived_.empty()) {
      Arrival arrival = std::move(arrived_.back());
      arrived_.pop_back();
      return arrival;
    }
    drop_expired();
    read_ready(wait(deadline));
    accept_new();
  }
  return std::nullopt;
}

void HalfOpen::drop_expired() {
  const auto now = Clock::now();
  const auto alive = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const Connection& one) { return one.expires > now; });
  connections_.erase(connections_.begin(), alive);
}

std::vector<bool> HalfOpen::wait(Deadline deadline) const {
  std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
  for (const Connection& one : connections_) waiting.push_back({one.socket.fd(), POLLIN, 0});
  const Deadline first =
      connections_.empty() ? deadline : std::min(deadline, connections_.front().expires);
  poll(waiting.data(), waiting.size(), milliseconds_until(first));
  std::vector<bool> ready;
  for (size_t i = 1; i < waiting.size(); ++i) ready.push_back(waiting[i].revents != 0);
  return ready;
}

void HalfOpen::read_ready(const std::vector<bool>& ready) {
  std::vector<Connection> left;
  std::vector<Arrival> whole;
  for (size_t i = 0; i < connections_.size(); ++i) {
    Connection& one = connections_[i];
    const State state = ready[i] ? read_from(&one) : State::kPartial;
    if (state == State::kPartial) {
      left.push_back(std::move(one));
      continue;
    }
    if (state != State::kWhole) continue;
    Header header;
    std::memcpy(&header, one.inbox.data(), sizeof(header));
    whole.push_back(
        {std::move(one.socket), one.challenge, header.tag, one.inbox.substr(sizeof(header))});
  }
  connections_ = std::move(left);
  std::move(whole.rbegin(), whole.rend(), std::back_inserter(arrived_));
}

// Reads the available bytes of the first message, and no bytes after it.
HalfOpen::State HalfOpen::read_from(Connection* connection) {
  std::string& inbox = connection->inbox;
  char bytes[4096];
  while (true) {
    Header header;
    size_t whole = sizeof(header);
    if (inbox.size() >= sizeof(header)) {
      std::memcpy(&header, inbox.data(), sizeof(header));
      if (header.magic != Header::kMagic || header.size > kHandshakeLimit) return State::kBroken;
      whole += header.size;
      if (inbox.size() == whole) return State::kWhole;
    }
    size_t received = 0;
    const size_t wanted = std::min(sizeof(bytes), whole - inbox.size());
    const Io io = connection->socket.receive_some(bytes, wanted, &received);
    if (io == Io::kTimeout) return State::kPartial;
    if (io == Io::kClosed) return State::kBroken;
    inbox.append(bytes, received);
  }
}

void HalfOpen::accept_new() {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    int error = 0;
    Socket socket = accept_waiting(listener_, &error);
    if (socket.valid()) {
      greet(std::move(socket));
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      return;
    } else if (error == EMFILE && !make_room()) {
      throw Error(Code::kEnvironment,
                  "rank 0 cannot take another rank's connection: too many open files; raise the "
                  "limit (ulimit -n), each rank needs two");
    } else if (error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      make_room();
      std::this_thread::sleep_for(kSystemPause);
      return;
    }
  }
}

void HalfOpen::greet(Socket socket) {
  if (connections_.size() >= most_) make_room();
  const Digest challenge = random_nonce();
  const std::string payload(challenge.begin(), challenge.end());
  // A challenge fits into the socket buffer of a new connection, so sending does not wait.
  if (send_message(socket, kChallenge, payload, Clock::now()) != Io::kDone) return;
  connections_.push_back({std::move(socket), challenge, after(kHelloSeconds), ""});
}

bool HalfOpen::make_room() {
  if (connections_.empty()) return false;
  auto dropped = std::find_if(connections_.begin(), connections_.end(),
                              [](const Connection& one) { return one.inbox.empty(); });
  connections_.erase(dropped == connections_.end() ? connections_.begin() : dropped);
  return true;
}

}  // namespace hirgen
