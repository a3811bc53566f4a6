#include "bootstrap/rendezvous.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/wire.hpp"

namespace hirgen {

namespace {

constexpr uint64_t kPayloadLimit = uint64_t{1} << 40;

}  // namespace

Rendezvous::Rendezvous(const ContextOptions& options, const Identity& identity)
    : rank_(options.rank), world_(options.world), timeout_(options.timeout_seconds) {
  check_secret(options);
  std::vector<Connections> connections;
  if (rank_ != 0) {
    connections.push_back(join_rank_zero(options, identity));
  } else if (world_ > 1) {
    connections = receive_ranks(options, identity);
  } else if (const std::string misfits = find_misfits({identity}); !misfits.empty()) {
    throw Error(Code::kEnvironment, misfits);
  }
  for (Connections& connection : connections) {
    peers_.push_back(std::move(connection.data));
    control_.push_back(std::move(connection.control));
  }
}

std::vector<std::string> Rendezvous::gather(const std::string& mine, const char* what) {
  const Deadline deadline = begin();
  if (rank_ != 0) {
    send_to(0, mine, what, deadline);
    return {};
  }
  std::vector<std::string> all{mine};
  for (int rank = 1; rank < world_; ++rank) all.push_back(receive_from(rank, what, deadline));
  return all;
}

std::string Rendezvous::broadcast(const std::string& mine, const char* what) {
  const Deadline deadline = begin();
  if (rank_ != 0) return receive_from(0, what, deadline);
  for (int rank = 1; rank < world_; ++rank) send_to(rank, mine, what, deadline);
  return mine;
}

std::vector<std::string> Rendezvous::allgather(const std::string& mine, const char* what) {
  Writer writer;
  for (const std::string& part : gather(mine, what)) writer.put(part);
  Reader reader(broadcast(writer.bytes(), what));
  std::vector<std::string> all(static_cast<size_t>(world_));
  for (std::string& part : all) part = reader.get_text();
  return all;
}

void Rendezvous::barrier(const char* what) { allgather("", what); }

double Rendezvous::max(double mine, const char* what) {
  double largest = mine;
  for (const std::string& part : allgather(Writer().put(mine).bytes(), what)) {
    largest = std::max(largest, Reader(part).get<double>());
  }
  return largest;
}

int64_t Rendezvous::sum(int64_t mine, const char* what) {
  int64_t total = 0;
  for (const std::string& part : allgather(Writer().put(mine).bytes(), what)) {
    total += Reader(part).get<int64_t>();
  }
  return total;
}

void Rendezvous::interrupt() const {
  for (const Socket& peer : peers_) peer.interrupt();
}

Deadline Rendezvous::begin() {
  ++sequence_;
  return after(rank_ == 0 ? timeout_ : timeout_ + kPatienceSeconds);
}

void Rendezvous::send_to(int rank, const std::string& payload, const char* what,
                         Deadline deadline) {
  const Io io = send_message(peers_[static_cast<size_t>(rank)], sequence_,
                             Writer().put(std::string(what)).bytes() + payload, deadline);
  if (io == Io::kDone) return;
  throw Error(Code::kPeer,
              format("rank %d %s during '%s'", rank,
                     io == Io::kClosed ? "closed its connection" : "does not read", what),
              rank);
}

std::string Rendezvous::receive_from(int rank, const char* what, Deadline deadline) {
  uint32_t tag = 0;
  std::string payload;
  const Io io =
      receive_message(peers_[static_cast<size_t>(rank)], kPayloadLimit, &tag, &payload, deadline);
  if (io == Io::kClosed) {
    throw Error(Code::kPeer, format("rank %d closed its connection during '%s'", rank, what), rank);
  }
  if (io == Io::kTimeout) {
    throw Error(Code::kPeer,
                format("rank %d did not come to '%s' within %s", rank, what,
                       seconds_text(timeout_).c_str()),
                rank);
  }
  Reader reader(std::move(payload));
  const std::string theirs = reader.get_text();
  if (tag != sequence_ || theirs != what) {
    throw Error(Code::kInternal,
                format("rank %d is at '%s' (operation %u) where rank %d is at '%s' (operation %u)",
                       rank, theirs.c_str(), tag, rank_, what, sequence_));
  }
  return reader.rest();
}

}  // namespace hirgen
