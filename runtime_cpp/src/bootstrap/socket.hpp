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
  kClosed,   ///< the connection is closed or broken, or the system cannot wait for it
  kTimeout,  ///< the deadline passed
};

/// Owns the file descriptor of a socket.
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

  /// Sends or receives exactly `bytes` bytes, unless it fails or the deadline passes first.
  Io send(const void* data, size_t bytes, Deadline deadline) const;
  Io receive(void* data, size_t bytes, Deadline deadline) const;

  /// Receives the available bytes, up to `bytes`, without waiting. kTimeout: there are none.
  Io receive_some(void* data, size_t bytes, size_t* received) const;

  /// Ends sending; this side can still receive.
  void finish_sending() const;

  /// Ends the connection, also while another thread waits for it: all transfers return kClosed.
  void interrupt() const;

 private:
  int fd_ = -1;
};

/// Listens at `port`: on the loopback interface alone if `address` is a loopback address, else on
/// all interfaces. Throws Error(kEnvironment) if that fails, for example if the port is taken.
Socket listen_at(const std::string& address, int port);

/// Accepts a connection that waits at the listener. If there is none, or accept fails, the result
/// is not valid and `error` is the error number.
Socket accept_waiting(const Socket& listener, int* error);

/// The address of the other side, for messages.
std::string peer_address(const Socket& socket);

/// Whether `address` is "localhost" or a numeric loopback address: only this node can reach it.
bool is_loopback(const std::string& address);

/// Connects to address:port of rank 0, and tries again while the name does not resolve or no
/// process listens there. Throws Error(kEnvironment) if the name cannot resolve or does not by the
/// deadline. Throws Error(kPeer, suspect 0), with `hint` at the end, if no connection is made by
/// the deadline.
Socket connect_to(const std::string& address, int port, Deadline deadline,
                  const std::string& hint = "");

}  // namespace hirgen
