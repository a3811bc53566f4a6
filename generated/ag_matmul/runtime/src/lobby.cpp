#include "lobby.hpp"

#include <algorithm>
#include <optional>

#include "text.hpp"
#include "wire.hpp"

namespace hirgen {

namespace {

// Tags of the handshake's messages.
enum LobbyTag : uint32_t { kHelloData = 1, kHelloControl = 2, kAdmission = 3 };

constexpr uint64_t kHelloLimit = 64 << 10;

// A connection that says nothing for so long is no rank: something scans ports.
constexpr double kHelloSeconds = 2;
// Ranks that do not fit are waited for a little longer, so that the message names all.
constexpr double kMisfitSeconds = 2;

class Lobby {
 public:
  Lobby(const ContextOptions& options, const Identity& identity)
      : options_(options), identities_(static_cast<size_t>(options.world)) {
    identities_[0] = identity;
    guests_.resize(static_cast<size_t>(options.world));
  }

  std::vector<Connections> run() {
    const Socket listener = listen_at(options_.address, options_.port);
    Deadline deadline = after(options_.timeout_seconds);
    if (!identities_[0]->problem.empty()) deadline = after(kMisfitSeconds);
    while (!complete()) {
      Socket guest = accept_from(listener, deadline);
      if (!guest.valid()) break;
      admit(std::move(guest));
      if (!misfits().empty()) deadline = std::min(deadline, after(kMisfitSeconds));
    }
    judge();
    return std::move(guests_);
  }

 private:
  bool complete() const {
    for (size_t rank = 1; rank < guests_.size(); ++rank) {
      if (!guests_[rank].data.valid() || !guests_[rank].control.valid()) return false;
    }
    return true;
  }

  // What does not fit among the ranks that came so far.
  std::string misfits() const {
    std::vector<Identity> present;
    for (const auto& identity : identities_) {
      if (identity) present.push_back(*identity);
    }
    return misfits_ + find_misfits(present);
  }

  // Reads a connection's hello and files it, or turns it away.
  void admit(Socket guest) {
    uint32_t tag = 0;
    std::string payload;
    if (receive_message(guest, kHelloLimit, &tag, &payload, after(kHelloSeconds)) != Io::kDone) {
      return;
    }
    Identity identity;
    try {
      Reader reader(payload);
      identity = read_identity(reader);
    } catch (const Error&) {
      return;  // a stranger
    }
    if (identity.job != options_.job) return turn_away(guest);
    if (identity.rank < 1 || identity.rank >= options_.world) {
      misfits_ += describe(identity) + format(
                                           " thinks that there are %d ranks where rank 0 thinks "
                                           "that there are %d\n",
                                           identity.world, options_.world);
      strangers_.push_back(std::move(guest));
      return;
    }
    file(identity, tag, std::move(guest));
  }

  void file(const Identity& identity, uint32_t tag, Socket guest) {
    const auto rank = static_cast<size_t>(identity.rank);
    Socket& place = tag == kHelloData ? guests_[rank].data : guests_[rank].control;
    if (place.valid() || (identities_[rank] && identities_[rank]->pid != identity.pid)) {
      misfits_ += describe(identity) + " and " + describe(*identities_[rank]) +
                  " say that they are the same rank\n";
      strangers_.push_back(std::move(guest));
      return;
    }
    identities_[rank] = identity;
    place = std::move(guest);
  }

  static void turn_away(const Socket& guest) {
    const std::string message =
        "another job's rank 0 listens at this address and port: set HIRGEN_PORT to a free port, "
        "the same on every rank";
    tell(guest, Code::kEnvironment, message);
  }

  static void tell(const Socket& guest, Code code, const std::string& message) {
    Writer writer;
    writer.put(code).put(message);
    // A guest that left meanwhile shows later, when it is missed.
    static_cast<void>(send_message(guest, kAdmission, writer.bytes(), after(kHelloSeconds)));
  }

  // Tells everybody whether they can start; throws if they cannot.
  void judge() {
    std::vector<int64_t> came;
    std::vector<int64_t> missing;
    for (size_t rank = 0; rank < identities_.size(); ++rank) {
      (identities_[rank] ? came : missing).push_back(static_cast<int64_t>(rank));
    }
    std::string message = misfits();
    Code code = message.empty() ? Code::kOk : Code::kEnvironment;
    if (message.empty() && !complete()) {
      code = Code::kPeer;
      message =
          format("only ranks %s of %d came within %s: missing rank%s %s", list_ranges(came).c_str(),
                 options_.world, seconds_text(options_.timeout_seconds).c_str(),
                 missing.size() == 1 ? "" : "s", list_ranges(missing).c_str());
    }
    for (const Connections& guest : guests_) {
      if (guest.data.valid()) tell(guest.data, code, message);
    }
    for (const Socket& stranger : strangers_) tell(stranger, code, message);
    if (code != Code::kOk) {
      throw Error(code, message, missing.empty() ? -1 : static_cast<int>(missing.front()));
    }
  }

  const ContextOptions& options_;
  std::vector<std::optional<Identity>> identities_;
  std::vector<Connections> guests_;
  std::vector<Socket> strangers_;  ///< told the outcome, then dropped
  std::string misfits_;            ///< found on arrival
};

Socket introduce(const ContextOptions& options, const Identity& identity, uint32_t tag,
                 Deadline deadline) {
  Socket socket = connect_to(options.address, options.port, deadline);
  Writer writer;
  write_identity(writer, identity);
  if (send_message(socket, tag, writer.bytes(), deadline) != Io::kDone) {
    throw Error(Code::kPeer, "rank 0 closed the connection during the start", 0);
  }
  return socket;
}

}  // namespace

std::vector<Connections> receive_ranks(const ContextOptions& options, const Identity& identity) {
  return Lobby(options, identity).run();
}

Connections join_rank_zero(const ContextOptions& options, const Identity& identity) {
  const Deadline deadline = after(options.timeout_seconds + kPatienceSeconds);
  Connections connections;
  connections.data = introduce(options, identity, kHelloData, deadline);
  connections.control = introduce(options, identity, kHelloControl, deadline);
  uint32_t tag = 0;
  std::string payload;
  const Io io = receive_message(connections.data, kHelloLimit, &tag, &payload, deadline);
  if (io != Io::kDone || tag != kAdmission) {
    throw Error(Code::kPeer,
                io == Io::kTimeout ? "rank 0 did not answer during the start"
                                   : "rank 0 closed the connection during the start",
                0);
  }
  Reader reader(payload);
  const Code code = reader.get<Code>();
  const std::string message = reader.get_text();
  if (code != Code::kOk) throw Error(code, message, 0);
  return connections;
}

}  // namespace hirgen
