// Messages between ranks: a header with tag and length, then fields. Fields are raw bytes, so both
// ends must have the same architecture. The handshake checks that all ranks have the same runtime
// protocol and program (identity.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "bootstrap/socket.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

/// Appends fields to a message.
class Writer {
 public:
  template <typename T>
  Writer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Writer& put(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads fields from a message in the order in which they were written. A message that is too short
/// throws Error(kInternal): received messages may be truncated.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    read(&value, sizeof(T));
    return value;
  }
  /// All remaining bytes.
  std::string rest() { return bytes_.substr(std::exchange(next_, bytes_.size())); }
  std::string get_text() {
    const auto size = get<uint64_t>();
    return std::string(take(size), size);
  }

 private:
  void read(void* value, uint64_t size);
  const char* take(uint64_t size);

  std::string bytes_;
  size_t next_ = 0;
};

/// The header of every message.
struct Header {
  uint32_t magic = kMagic;
  uint32_t tag = 0;
  uint64_t size = 0;

  static constexpr uint32_t kMagic = 0x52474948;  ///< the bytes "HIGR", little-endian
};

/// Sends one message.
Io send_message(const Socket& socket, uint32_t tag, const std::string& payload, Deadline deadline);

/// Receives one message with a payload of at most `limit` bytes. Returns kClosed for a header
/// without the magic number or with a longer payload.
Io receive_message(const Socket& socket, uint64_t limit, uint32_t* tag, std::string* payload,
                   Deadline deadline);

}  // namespace hirgen
