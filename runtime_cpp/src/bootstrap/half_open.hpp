// Connections that have not said who they are. Anybody can open one, so they are served side by
// side in one poll loop, live for a bounded time and are bounded in number and size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "bootstrap/socket.hpp"

namespace hirgen {

/// A connection whose first message came whole. What it says is not checked yet.
struct Arrival {
  Socket socket;
  Digest challenge{};  ///< what this connection was sent
  uint32_t tag = 0;
  std::string payload;
};

class HalfOpen {
 public:
  /// Keeps at most `most` connections of the listener: for one more the oldest that has said
  /// nothing is dropped, or the oldest of all.
  HalfOpen(Socket listener, size_t most) : listener_(std::move(listener)), most_(most) {}

  /// The next connection whose first message is whole; nothing at the deadline, whatever comes.
  /// Throws Error(kEnvironment) if this process may not open more files.
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
  /// Waits for a new connection or for bytes; sets which connections have some.
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
