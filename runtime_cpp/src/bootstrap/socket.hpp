// TCP with a deadline for every operation. Sockets are non-blocking; waits use poll().
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace hirgen {

/// The result of a transfer.
enum class Io {
  kDone,
  kClosed,   ///< the other side closed the connection or the network broke
  kTimeout,  ///< the deadline passed
};

/// A file descriptor of a socket; closes it.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool valid() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  void close();

  /// Sends or receives exactly `bytes`.
  Io send(const void* data, size_t bytes, Deadline deadline) const;
  Io receive(void* data, size_t bytes, Deadline deadline) const;

  /// Receives the available bytes, up to `bytes`, without waiting. kTimeout: there are none.
  Io receive_some(void* data, size_t bytes, size_t* received) const;

  /// Ends sending; the other side can still be read.
  void finish_sending() const;

  /// Ends the connection while another thread waits for it: its transfers return kClosed.
  void interrupt() const;

 private:
  int fd_ = -1;
};

/// Listens at `port`, on the loopback interface alone if `address` is a loopback address,
/// else on all. Throws Error(kEnvironment) if the port is taken, naming the variable to set.
Socket listen_at(const std::string& address, int port);

/// Accepts a connection that waits at the listener. If there is none, or accept fails, the result
/// is not valid and `error` is the error number.
Socket accept_waiting(const Socket& listener, int* error);

/// The address of the other side, for messages.
std::string peer_address(const Socket& socket);

/// Whether only processes of this node can reach `address`.
bool is_loopback(const std::string& address);

/// Connects to address:port, and tries again while the name does not resolve or no process listens
/// there. Throws Error(kEnvironment) if the name does not resolve by the deadline, and Error(kPeer,
/// suspect 0) after the deadline: only rank 0 listens. `hint` is appended to the latter's message.
Socket connect_to(const std::string& address, int port, Deadline deadline,
                  const std::string& hint = "");

}  // namespace hirgen
