#include "bootstrap/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "base/open_files.hpp"
#include "base/text.hpp"
#include "base/wait_ready.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// The result of a transfer after wait_ready() returned false.
Io given_up_waiting() { return errno == ETIMEDOUT ? Io::kTimeout : Io::kClosed; }

void prepare(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Addresses resolve(const std::string& address, int port, int flags, int* status) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const char* node = address.empty() ? nullptr : address.c_str();
  *status = getaddrinfo(node, std::to_string(port).c_str(), &hints, &found);
  return {*status == 0 ? found : nullptr, &freeaddrinfo};
}

// The longest attempt to connect to one address. A host may have several, some of them unreachable.
constexpr double kAttemptSeconds = 5;

// The first and the longest pause before a name that does not resolve is looked up again.
constexpr std::chrono::milliseconds kFirstAskPause(20);
constexpr std::chrono::milliseconds kLastAskPause(1000);
// The pause before the next attempt to connect, if no process listens yet.
constexpr std::chrono::milliseconds kConnectPause(20);

// Whether a name that does not resolve may do so later, because the name server, the network or the
// record of a host that just started is not there yet. Each status below may mean that. False for
// text that is no name, such as an IPv6 address.
bool may_resolve_later(const std::string& address, int status) {
  const bool is_name = std::all_of(address.begin(), address.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 || std::strchr(".-_", c) != nullptr;
  });
  return is_name && (status == EAI_AGAIN || status == EAI_NONAME || status == EAI_NODATA ||
                     status == EAI_FAIL || status == EAI_ADDRFAMILY || status == EAI_MEMORY ||
                     status == EAI_SYSTEM);
}

[[noreturn]] void fail_without_files(const char* what) {
  throw Error(Code::kEnvironment, std::string(what) + ": " + too_many_files());
}

// Resolves a name. If it may resolve later, prints a notice and tries again until the deadline.
Addresses resolve_until(const std::string& address, int port, Deadline deadline) {
  for (auto pause = kFirstAskPause;; pause = std::min(2 * pause, kLastAskPause)) {
    int status = 0;
    Addresses targets = resolve(address, port, 0, &status);
    if (targets) return targets;
    if (!too_many_files().empty()) fail_without_files("cannot resolve rank 0's address");
    if (!may_resolve_later(address, status) || Clock::now() >= deadline) {
      throw Error(Code::kEnvironment, format("cannot resolve rank 0's address '%s': %s; set "
                                             "HIRGEN_ADDR to the host of rank 0",
                                             address.c_str(), gai_strerror(status)));
    }
    if (pause == kFirstAskPause) {
      std::fprintf(stderr,
                   "hirgen: rank 0's address '%s' does not resolve yet (%s): trying again\n",
                   address.c_str(), gai_strerror(status));
    }
    std::this_thread::sleep_until(std::min(deadline, Clock::now() + pause));
  }
}

// Makes one attempt to connect to an address. Returns 0 on success, else the error number.
int try_connect(const addrinfo& target, Deadline deadline, Socket* connected) {
  Socket socket(::socket(target.ai_family, target.ai_socktype, target.ai_protocol));
  if (!socket.valid()) return errno;
  prepare(socket.fd());
  if (connect(socket.fd(), target.ai_addr, target.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_ready(socket.fd(), POLLOUT, deadline)) return errno;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  *connected = std::move(socket);
  return 0;
}

// Listens at one address. Returns 0 on success, else the error number.
int try_listen(const addrinfo& target, Socket* listening) {
  Socket socket(::socket(target.ai_family, target.ai_socktype, target.ai_protocol));
  if (!socket.valid()) return errno;
  prepare(socket.fd());
  const int one = 1;
  const int zero = 0;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (target.ai_family == AF_INET6) {
    setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
  }
  if (bind(socket.fd(), target.ai_addr, target.ai_addrlen) != 0) return errno;
  if (listen(socket.fd(), SOMAXCONN) != 0) return errno;
  *listening = std::move(socket);
  return 0;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::finish_sending() const {
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

void Socket::interrupt() const {
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
}

Io Socket::send(const void* data, size_t bytes, Deadline deadline) const {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd_, next, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      next += sent;
      bytes -= static_cast<size_t>(sent);
    } else if (sent < 0 && !would_block()) {
      return Io::kClosed;
    } else if (!wait_ready(fd_, POLLOUT, deadline)) {
      return given_up_waiting();
    }
  }
  return Io::kDone;
}

Io Socket::receive(void* data, size_t bytes, Deadline deadline) const {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    size_t received = 0;
    const Io io = receive_some(next, bytes, &received);
    if (io == Io::kClosed) return io;
    next += received;
    bytes -= received;
    if (io == Io::kTimeout && !wait_ready(fd_, POLLIN, deadline)) return given_up_waiting();
  }
  return Io::kDone;
}

Io Socket::receive_some(void* data, size_t bytes, size_t* received) const {
  *received = 0;
  const ssize_t count = recv(fd_, data, bytes, 0);
  if (count > 0) {
    *received = static_cast<size_t>(count);
    return Io::kDone;
  }
  return count < 0 && would_block() ? Io::kTimeout : Io::kClosed;
}

Socket listen_at(const std::string& address, int port) {
  int status = 0;
  const Addresses targets = resolve(is_loopback(address) ? address : "", port, AI_PASSIVE, &status);
  int error = EADDRNOTAVAIL;
  // IPv6 is tried first, because an IPv6 socket also accepts IPv4 connections. An IPv4 socket is
  // for hosts without IPv6. If the port is in use, no other address is tried.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
      if (target->ai_family != family || error == EADDRINUSE) continue;
      Socket listening;
      error = try_listen(*target, &listening);
      if (error == 0) return listening;
    }
  }
  if (error == EMFILE) fail_without_files("rank 0 cannot listen");
  throw Error(Code::kEnvironment,
              format("rank 0 cannot listen at port %d: %s; set HIRGEN_PORT to a free port, the "
                     "same on every rank (under torchrun MASTER_PORT + 1 is used)",
                     port, std::strerror(error)));
}

Socket accept_waiting(const Socket& listener, int* error) {
  const int fd = accept(listener.fd(), nullptr, nullptr);
  *error = fd < 0 ? errno : 0;
  if (fd < 0) return {};
  prepare(fd);
  return Socket(fd);
}

std::string peer_address(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  char name[NI_MAXHOST] = "";
  if (getpeername(socket.fd(), any, &size) != 0 ||
      getnameinfo(any, size, name, sizeof(name), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  return name;
}

bool is_loopback(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (inet_pton(AF_INET6, address.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return address == "localhost";
}

Socket connect_to(const std::string& address, int port, Deadline deadline,
                  const std::string& hint) {
  int error = 0;
  do {
    const Addresses targets = resolve_until(address, port, deadline);
    for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
      Socket connected;
      error = try_connect(*target, std::min(deadline, after(kAttemptSeconds)), &connected);
      if (error == 0) return connected;
      if (error == EMFILE) fail_without_files("cannot connect to rank 0");
    }
    std::this_thread::sleep_for(kConnectPause);
  } while (Clock::now() < deadline);
  throw Error(
      Code::kPeer,
      format("rank 0 did not answer at %s port %d: %s; is rank 0 running, and do "
             "HIRGEN_ADDR and HIRGEN_PORT (or MASTER_ADDR and MASTER_PORT) name its host?%s",
             address.c_str(), port, std::strerror(error), hint.c_str()),
      0);
}

}  // namespace hirgen
