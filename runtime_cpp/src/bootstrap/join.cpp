// The start of a job on the ranks other than 0.
#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/wire.hpp"

namespace hirgen {

namespace {

// Rank 0 answers at once. If no answer comes in this time, the connection was lost, or waits in the
// queue of a process that does not accept it; another connection may succeed.
constexpr double kKnockSeconds = 5;
constexpr std::chrono::milliseconds kRetryPause(20);

struct Joined {
  Socket socket;
  Nonces nonces;
};

class Join {
 public:
  Join(const ContextOptions& options, const Identity& identity)
      : options_(options), deadline_(after(options.timeout_seconds + kPatienceSeconds)) {
    Writer writer;
    write_identity(writer, identity);
    identity_ = writer.bytes();
  }

  Connections run() {
    Joined data = introduce(kHelloData);
    Joined control = introduce(kHelloControl);
    await_admission(data);
    await_admission(control);
    return {std::move(data.socket), std::move(control.socket)};
  }

 private:
  // Opens a connection and introduces this rank on it. If rank 0 drops the connection, because many
  // processes connect at once, or does not answer, introduce() tries again until the deadline.
  Joined introduce(HandshakeTag tag) const {
    while (true) {
      Joined joined;
      joined.socket = connect_to(options_.address, options_.port, deadline_, options_.meeting_hint);
      const Io io = knock(&joined, tag);
      if (io == Io::kDone) return joined;
      if (Clock::now() >= deadline_) fail(io);
      std::this_thread::sleep_for(kRetryPause);
    }
  }

  Io knock(Joined* joined, HandshakeTag tag) const {
    const Deadline deadline = std::min(deadline_, after(kKnockSeconds));
    uint32_t theirs = 0;
    std::string payload;
    Io io = receive_message(joined->socket, kHandshakeLimit, &theirs, &payload, deadline);
    Nonces& nonces = joined->nonces;
    if (io != Io::kDone) return io;
    if (theirs != kChallenge || payload.size() != nonces.of_rank_zero.size()) return Io::kClosed;
    std::copy(payload.begin(), payload.end(), nonces.of_rank_zero.begin());
    nonces.of_other = random_nonce();
    const std::string hello = seal_hello(options_.secret, tag, nonces, identity_);
    io = send_message(joined->socket, tag, hello, deadline);
    if (io != Io::kDone) return io;
    io = receive_message(joined->socket, kHandshakeLimit, &theirs, &payload, deadline);
    if (io != Io::kDone) return io;
    if (theirs == kRefusal) give_up(payload);
    if (theirs != kWelcome || !unseal(options_.secret, kWelcome, nonces, payload)) distrust();
    return Io::kDone;
  }

  void await_admission(const Joined& joined) const {
    uint32_t tag = 0;
    std::string payload;
    const Io io = receive_message(joined.socket, kHandshakeLimit, &tag, &payload, deadline_);
    if (io != Io::kDone) fail(io);
    const auto outcome = unseal(options_.secret, kAdmission, joined.nonces, payload);
    if (tag != kAdmission || !outcome) distrust();
    Reader reader(*outcome);
    const Code code = reader.get<Code>();
    const std::string message = reader.get_text();
    if (code != Code::kOk) throw Error(code, message, 0);
  }

  [[noreturn]] static void fail(Io io) {
    throw Error(Code::kPeer,
                io == Io::kTimeout ? "rank 0 did not answer during the start"
                                   : "rank 0 closed the connection during the start",
                0);
  }

  std::string address_text() const {
    return format("%s port %d", options_.address.c_str(), options_.port);
  }

  [[noreturn]] void give_up(const std::string& payload) const {
    if (payload == Writer().put(Refusal::kOtherJob).bytes()) {
      throw Error(
          Code::kEnvironment,
          "another job's rank 0 listens at this address and port: set HIRGEN_PORT to a free "
          "port, the same on every rank");
    }
    throw Error(Code::kEnvironment,
                "rank 0 at " + address_text() + " has another job secret than this rank" +
                    (options_.secret.empty() ? ", which has none" : "") +
                    ": set HIRGEN_JOB_SECRET to the same text on every rank; if another job "
                    "listens there, set HIRGEN_PORT to a free port, the same on every rank");
  }

  [[noreturn]] void distrust() const {
    throw Error(Code::kEnvironment,
                "what answers at " + address_text() +
                    " does not know this job's secret, so it is not rank 0: set HIRGEN_PORT to a "
                    "free port, the same on every rank, and HIRGEN_JOB_SECRET to the same text");
  }

  const ContextOptions& options_;
  const Deadline deadline_;
  std::string identity_;
};

}  // namespace

Connections join_rank_zero(const ContextOptions& options, const Identity& identity) {
  return Join(options, identity).run();
}

}  // namespace hirgen
