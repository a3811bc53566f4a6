#include "watchdog/control_channel.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace hirgen {

namespace {

enum Tag : uint32_t { kHeartbeat = 16, kFailure = 17, kVerdict = 18, kGoodbye = 19 };

constexpr size_t kMessageLimit = 64 << 10;

// A peer that does not read for this long gets no more messages. If its process was stopped, the
// other ranks notice that its heartbeats stop.
constexpr double kSendSeconds = 0.05;

Progress read_progress(Reader& reader) {
  Progress progress;
  progress.begun = reader.get<int64_t>();
  progress.issued = reader.get<int64_t>();
  progress.completed = reader.get<int64_t>();
  progress.statements = reader.get<uint64_t>();
  progress.position = reader.get_text();
  return progress;
}

Failure read_failure(Reader& reader) {
  Failure failure;
  failure.reporter = reader.get<int>();
  failure.suspect = reader.get<int>();
  failure.code = reader.get<Code>();
  failure.text = reader.get_text();
  return failure;
}

Verdict read_verdict(Reader& reader) {
  Verdict verdict;
  verdict.culprit = reader.get<int>();
  verdict.code = reader.get<Code>();
  verdict.text = reader.get_text();
  return verdict;
}

}  // namespace

ControlChannel::ControlChannel(int rank, int world, std::vector<Socket> sockets) {
  for (size_t i = 0; i < sockets.size(); ++i) {
    if (!sockets[i].valid()) continue;
    const int peer = rank == 0 ? static_cast<int>(i) : 0;
    if (peer < world) peers_.push_back({peer, std::move(sockets[i]), "", true});
  }
}

bool ControlChannel::fill(Peer* peer) {
  char bytes[4096];
  // If a peer never stops sending, the rest is read in the next round.
  while (peer->inbox.size() <= kMessageLimit + sizeof(Header)) {
    size_t received = 0;
    const Io io = peer->socket.receive_some(bytes, sizeof(bytes), &received);
    peer->inbox.append(bytes, received);
    if (io == Io::kTimeout) return true;
    if (io == Io::kClosed) return false;
  }
  return true;
}

bool ControlChannel::take_message(Peer* peer, uint32_t* tag, std::string* payload, bool* broken) {
  Header header;
  if (peer->inbox.size() < sizeof(header)) return false;
  std::memcpy(&header, peer->inbox.data(), sizeof(header));
  *broken = header.magic != Header::kMagic || header.size > kMessageLimit;
  if (*broken || peer->inbox.size() < sizeof(header) + header.size) return false;
  *tag = header.tag;
  *payload = peer->inbox.substr(sizeof(header), header.size);
  peer->inbox.erase(0, sizeof(header) + header.size);
  return true;
}

void ControlChannel::receive(std::vector<RankView>* ranks, std::vector<Failure>* failures,
                             std::optional<Verdict>* verdict) {
  for (Peer& peer : peers_) {
    if (!peer.socket.valid()) continue;
    RankView& view = (*ranks)[static_cast<size_t>(peer.rank)];
    bool closed = !fill(&peer);
    bool broken = false;
    uint32_t tag = 0;
    std::string payload;
    while (!broken && take_message(&peer, &tag, &payload, &broken)) {
      view.silent_seconds = 0;
      try {
        Reader reader(std::move(payload));
        if (tag == kHeartbeat) view.progress = read_progress(reader);
        if (tag == kGoodbye) view.left = true;
        if (tag == kFailure) failures->push_back(read_failure(reader));
        if (tag == kVerdict) *verdict = read_verdict(reader);
      } catch (const Error&) {
        broken = true;  // truncated: no rank of this program sends that
      }
    }
    closed = closed || broken;
    if (closed) peer.socket.close();
    if (closed && !view.left) view.died = true;
  }
}

void ControlChannel::send(uint32_t tag, const std::string& payload) {
  for (Peer& peer : peers_) {
    if (!peer.socket.valid() || !peer.writable) continue;
    peer.writable = send_message(peer.socket, tag, payload, after(kSendSeconds)) == Io::kDone;
  }
}

void ControlChannel::send_heartbeat(const Progress& progress) {
  Writer writer;
  writer.put(progress.begun).put(progress.issued).put(progress.completed);
  writer.put(progress.statements).put(progress.position);
  send(kHeartbeat, writer.bytes());
}

void ControlChannel::send_failure(const Failure& failure) {
  Writer writer;
  writer.put(failure.reporter).put(failure.suspect).put(failure.code).put(failure.text);
  send(kFailure, writer.bytes());
}

void ControlChannel::send_verdict(const Verdict& verdict) {
  Writer writer;
  writer.put(verdict.culprit).put(verdict.code).put(verdict.text);
  send(kVerdict, writer.bytes());
}

void ControlChannel::send_goodbye() { send(kGoodbye, ""); }

void ControlChannel::linger(double seconds) {
  for (const Peer& peer : peers_) peer.socket.finish_sending();
  const Deadline deadline = after(seconds);
  while (Clock::now() < deadline) {
    bool open = false;
    for (Peer& peer : peers_) {
      if (!peer.socket.valid()) continue;
      peer.inbox.clear();
      if (fill(&peer)) {
        open = true;
      } else {
        peer.socket.close();
      }
    }
    if (!open) return;
    wait(-1, 10);
  }
}

void ControlChannel::wait(int wake_fd, int milliseconds) const {
  std::vector<pollfd> waiting{{wake_fd, POLLIN, 0}};  // a negative fd is ignored
  for (const Peer& peer : peers_) {
    if (peer.socket.valid()) waiting.push_back({peer.socket.fd(), POLLIN, 0});
  }
  const int ready = poll(waiting.data(), waiting.size(), milliseconds);
  if (ready >= 0 || errno == EINTR) return;
  // The system is short of memory, for example. The callers try again.
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace hirgen
