#include "bootstrap/wire.hpp"

#include <algorithm>
#include <cstring>

namespace hirgen {

namespace {

constexpr size_t kFirstStep = size_t{16} << 20;

}  // namespace

void Reader::read(void* value, uint64_t size) { std::memcpy(value, take(size), size); }

const char* Reader::take(uint64_t size) {
  if (size > bytes_.size() - next_) throw Error(Code::kInternal, "a message is cut short");
  next_ += size;
  return bytes_.data() + next_ - size;
}

Io send_message(const Socket& socket, uint32_t tag, const std::string& payload, Deadline deadline) {
  Header header;
  header.tag = tag;
  header.size = payload.size();
  const Io io = socket.send(&header, sizeof(header), deadline);
  return io == Io::kDone ? socket.send(payload.data(), payload.size(), deadline) : io;
}

Io receive_message(const Socket& socket, uint64_t limit, uint32_t* tag, std::string* payload,
                   Deadline deadline) {
  Header header;
  const Io io = socket.receive(&header, sizeof(header), deadline);
  if (io != Io::kDone) return io;
  if (header.magic != Header::kMagic || header.size > limit) return Io::kClosed;
  *tag = header.tag;
  payload->clear();
  // The sender may claim any length. So the buffer grows only as bytes arrive: to 16 MiB at first,
  // then to twice its size each time.
  while (payload->size() < header.size) {
    const size_t begin = payload->size();
    const uint64_t step = std::min<uint64_t>(header.size - begin, std::max(begin, kFirstStep));
    payload->resize(begin + step);
    if (const Io got = socket.receive(payload->data() + begin, step, deadline); got != Io::kDone) {
      return got;
    }
  }
  return Io::kDone;
}

}  // namespace hirgen
