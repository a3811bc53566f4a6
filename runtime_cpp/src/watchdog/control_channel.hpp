// The messages between the watchdogs of the ranks: over a star of connections to rank 0, separate
// from the connections of the rendezvous. Only the watchdog's thread uses a channel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/socket.hpp"
#include "bootstrap/wire.hpp"
#include "watchdog/progress.hpp"

namespace hirgen {

/// One rank's end of the star. Except for linger() and wait(), functions wait only when they send,
/// at most 50 ms for each peer.
class ControlChannel {
 public:
  /// `sockets` comes from Rendezvous::take_control().
  ControlChannel(int rank, int world, std::vector<Socket> sockets);

  /// Reads the arrived messages and updates `ranks`, which has an entry for each rank: progress,
  /// goodbyes and closed connections. Sets silent_seconds to 0 for the ranks that sent a message.
  /// Ranks other than 0 get messages from rank 0 only. Appends received failures, and sets
  /// `*verdict` if one was received.
  void receive(std::vector<RankView>* ranks, std::vector<Failure>* failures,
               std::optional<Verdict>* verdict);

  void send_heartbeat(const Progress& progress);
  void send_failure(const Failure& failure);
  void send_verdict(const Verdict& verdict);
  void send_goodbye();

  /// Ends sending, then reads until every peer has closed its end or `seconds` have passed. Closing
  /// a TCP connection with unread bytes would reset the connection, and a message on its way to the
  /// peer could get lost.
  void linger(double seconds);
  /// Closes all open connections.
  void close() { peers_.clear(); }

  /// Waits until a connection or `wake_fd` is readable, or `milliseconds` have passed.
  void wait(int wake_fd, int milliseconds) const;

 private:
  struct Peer {
    int rank;
    Socket socket;
    std::string inbox;
    bool writable = true;  ///< false after a message could not be sent whole
  };
  void send(uint32_t tag, const std::string& payload);
  /// Appends the arrived bytes to the inbox; false if the connection is closed.
  static bool fill(Peer* peer);
  static bool take_message(Peer* peer, uint32_t* tag, std::string* payload, bool* broken);

  std::vector<Peer> peers_;
};

}  // namespace hirgen
