#include "bootstrap/bootstrap.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/open_files.hpp"
#include "base/text.hpp"
#include "bootstrap/half_open.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/wire.hpp"

namespace hirgen {

namespace {

// After the first rank that does not fit, rank 0 waits this long for others, so that its message
// names all misfits.
constexpr double kMisfitSeconds = 2;
// The limit for sending the outcome, which normally fits into each connection's socket buffer.
constexpr double kTellSeconds = 2;
// The most connections without a complete hello, in addition to two for each rank.
constexpr size_t kStrangers = 256;
// The most connections that rank 0 keeps without a seat, in order to send them the reason why they
// do not fit. Without a secret, any process can claim to be a rank.
constexpr size_t kMostMisfits = 64;
// The longest error message in an admission, in bytes.
constexpr size_t kLongestMessage = kHandshakeLimit / 2;

// One of a rank's two connections, on which the rank has proved that it belongs to the job.
struct Seat {
  Socket socket;
  Nonces nonces;
};

class Bootstrap {
 public:
  Bootstrap(const ContextOptions& options, const Identity& identity)
      : options_(options),
        identities_(static_cast<size_t>(options.world)),
        seats_(static_cast<size_t>(options.world)) {
    identities_[0] = identity;
  }

  std::vector<Connections> run() {
    HalfOpen door(listen_at(options_.address, options_.port), kStrangers + 2 * seats_.size());
    say_what_is_trusted();
    Deadline deadline = after(options_.timeout_seconds);
    if (!identities_[0]->problem.empty()) deadline = after(kMisfitSeconds);
    while (!complete()) {
      std::optional<Arrival> arrival = door.next(deadline);
      if (!arrival) break;
      if (!admit(std::move(*arrival))) continue;
      if (!misfits().empty()) deadline = std::min(deadline, after(kMisfitSeconds));
    }
    judge();
    std::vector<Connections> connections;
    for (auto& [data, control] : seats_) {
      connections.push_back({std::move(data.socket), std::move(control.socket)});
    }
    return connections;
  }

 private:
  void say_what_is_trusted() const {
    if (!options_.secret.empty() || is_loopback(options_.address)) return;
    std::fprintf(
        stderr,
        "hirgen: %s rank 0: this job has no secret, so any process that can reach port %d "
        "of this node is taken for a rank that it says to be; HIRGEN_JOB_SECRET, the same on "
        "every rank, keeps strangers out\n",
        options_.program.c_str(), options_.port);
  }

  static bool is_whole(const std::array<Seat, 2>& pair) {
    return pair[0].socket.valid() && pair[1].socket.valid();
  }

  bool complete() const { return std::all_of(seats_.begin() + 1, seats_.end(), is_whole); }

  // Describes how the ranks that have come so far do not fit together; "" if they fit.
  std::string misfits() const {
    std::vector<Identity> present;
    for (const auto& identity : identities_) {
      if (identity) present.push_back(*identity);
    }
    return misfits_ + find_misfits(present);
  }

  // Checks a connection's hello. If the hello proves that the connection belongs to the job,
  // welcomes the connection, gives it its seat (or adds it to the misfits) and returns true. If the
  // secret or the job differs, sends a refusal, drops the connection and returns false. If the
  // hello is no valid message or the welcome cannot be sent, only drops it and returns false.
  bool admit(Arrival arrival) {
    const auto tag = static_cast<HandshakeTag>(arrival.tag);
    if (tag != kHelloData && tag != kHelloControl) return false;
    Seat seat{std::move(arrival.socket), {arrival.challenge, {}}};
    const auto text = unseal_hello(options_.secret, tag, &seat.nonces, arrival.payload);
    if (!text) {
      ++refused_;
      refused_last_ = peer_address(seat.socket);
      refuse(seat.socket, Refusal::kOtherSecret);
      return false;
    }
    Identity identity;
    try {
      Reader reader(*text);
      identity = read_identity(reader);
    } catch (const Error&) {
      return false;  // the text is no identity, so the sender is no rank
    }
    if (identity.job != options_.job) {
      refuse(seat.socket, Refusal::kOtherJob);
      return false;
    }
    // A message right after the hello fits into the socket buffer, so sending does not wait.
    const std::string welcome = seal(options_.secret, kWelcome, seat.nonces, "");
    if (send_message(seat.socket, kWelcome, welcome, Clock::now()) != Io::kDone) return false;
    take_seat(identity, tag, std::move(seat));
    return true;
  }

  void take_seat(const Identity& identity, HandshakeTag tag, Seat seat) {
    if (identity.rank < 1 || identity.rank >= options_.world) {
      return add_misfit(describe(identity) +
                            format(" thinks that there are %d ranks where rank 0 thinks that there "
                                   "are %d\n",
                                   identity.world, options_.world),
                        std::move(seat));
    }
    const auto rank = static_cast<size_t>(identity.rank);
    Seat& known = seats_[rank][tag == kHelloData ? 0 : 1];
    if (known.socket.valid() || (identities_[rank] && identities_[rank]->pid != identity.pid)) {
      return add_misfit(describe(identity) + " and " + describe(*identities_[rank]) +
                            " say that they are the same rank\n",
                        std::move(seat));
    }
    identities_[rank] = identity;
    known = std::move(seat);
  }

  void add_misfit(const std::string& why, Seat seat) {
    if (without_seat_.size() >= kMostMisfits) return;
    misfits_ += why;
    without_seat_.push_back(std::move(seat));
  }

  static void refuse(const Socket& socket, Refusal why) {
    static_cast<void>(send_message(socket, kRefusal, Writer().put(why).bytes(), Clock::now()));
  }

  void tell(const Seat& seat, const std::string& outcome, Deadline deadline) const {
    if (!seat.socket.valid()) return;
    // Send errors are ignored: a rank that has left is noticed in the next operation, in which it
    // does not take part.
    const std::string payload = seal(options_.secret, kAdmission, seat.nonces, outcome);
    static_cast<void>(send_message(seat.socket, kAdmission, payload, deadline));
  }

  std::string who_is_missing(const std::vector<int64_t>& came,
                             const std::vector<int64_t>& missing) const {
    std::string text =
        format("only ranks %s of %d came within %s: missing rank%s %s", list_ranges(came).c_str(),
               options_.world, seconds_text(options_.timeout_seconds).c_str(),
               missing.size() == 1 ? "" : "s", list_ranges(missing).c_str());
    if (refused_ > 0) {
      text += format(
          "; %d connection%s without this job's secret %s refused, the last from %s: if that was a "
          "rank, HIRGEN_JOB_SECRET differs there",
          refused_, refused_ == 1 ? "" : "s", refused_ == 1 ? "was" : "were",
          refused_last_.c_str());
    }
    if (const std::string files = too_many_files(); !files.empty()) text += "; " + files;
    return text + options_.meeting_hint;
  }

  // Tells every rank that came whether the job starts; throws if it does not.
  void judge() {
    std::vector<int64_t> came;
    std::vector<int64_t> missing;
    for (size_t rank = 0; rank < identities_.size(); ++rank) {
      const bool is_here = rank == 0 || is_whole(seats_[rank]);
      (is_here ? came : missing).push_back(static_cast<int64_t>(rank));
    }
    std::string message = misfits();
    Code code = message.empty() ? Code::kOk : Code::kEnvironment;
    if (message.empty() && !complete()) {
      code = Code::kPeer;
      message = who_is_missing(came, missing);
    }
    if (message.size() > kLongestMessage) message.resize(kLongestMessage);
    const std::string outcome = Writer().put(code).put(message).bytes();
    const Deadline deadline = after(kTellSeconds);
    for (const auto& pair : seats_) {
      for (const Seat& seat : pair) tell(seat, outcome, deadline);
    }
    for (const Seat& seat : without_seat_) tell(seat, outcome, deadline);
    if (code != Code::kOk) {
      throw Error(code, message, missing.empty() ? -1 : static_cast<int>(missing.front()));
    }
  }

  const ContextOptions& options_;
  std::vector<std::optional<Identity>> identities_;
  std::vector<std::array<Seat, 2>> seats_;  ///< by rank: its data and control connections
  std::vector<Seat> without_seat_;          ///< of misfits, which get the outcome, too
  std::string misfits_;                     ///< descriptions of misfits found on arrival
  int refused_ = 0;                         ///< connections without the job's secret
  std::string refused_last_;                ///< address of the last of these connections
};

}  // namespace

void check_secret(const ContextOptions& options) {
  if (!options.require_secret || options.world < 2 || !options.secret.empty()) return;
  throw Error(
      Code::kEnvironment,
      "a job secret is required and none is given: set HIRGEN_JOB_SECRET to the same random "
      "text on every rank, as in\n  export HIRGEN_JOB_SECRET=$(openssl rand -hex 16)\n"
      "before the launcher; `hirgen run` gives one by itself");
}

std::vector<Connections> receive_ranks(const ContextOptions& options, const Identity& identity) {
  return Bootstrap(options, identity).run();
}

}  // namespace hirgen
