// Connections that have not identified themselves. Any process can open one. So one poll loop
// serves all of them, and their lifetime, number and size are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "bootstrap/socket.hpp"

namespace hirgen {

/// A connection whose first message is complete. The message is not checked yet.
struct Arrival {
  Socket socket;
  Digest challenge{};  ///< the random number that rank 0 sent on it
  uint32_t tag = 0;
  std::string payload;
};

class HalfOpen {
 public:
  /// Keeps at most `most` connections of the listener. To make room it drops the oldest connection
  /// that has sent nothing, or else the oldest of all.
  HalfOpen(Socket listener, size_t most) : listener_(std::move(listener)), most_(most) {}

  /// The next connection whose first message is complete; nullopt at the deadline, even while other
  /// connections arrive. Throws Error(kEnvironment) if this process can open no more files and has
  /// no connection to drop.
  std::optional<Arrival> next(Deadline deadline);

 private:
  struct Connection {
    Socket socket;
    Digest challenge{};
    Deadline expires;
    std::string inbox;
  };
  enum class State { kPartial, kWhole, kBroken };

  void drop_expired();
  /// Waits for a new connection or for bytes, until the deadline or the first connection expires.
  /// Returns for each connection whether it has bytes or is closed.
  std::vector<bool> wait(Deadline deadline) const;
  void read_ready(const std::vector<bool>& ready);
  static State read_from(Connection* connection);
  void accept_new();
  void greet(Socket socket);
  bool make_room();

  Socket listener_;
  size_t most_;
  std::vector<Connection> connections_;  ///< oldest first
  std::vector<Arrival> arrived_;         ///< oldest last
};

}  // namespace hirgen
