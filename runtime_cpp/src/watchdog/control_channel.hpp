// What the watchdogs of the ranks say to each other, over connections of their own: a
// star through rank 0. Used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/socket.hpp"
#include "bootstrap/wire.hpp"
#include "watchdog/progress.hpp"

namespace hirgen {

/// One rank's end of the star. Nothing here waits for a peer.
class ControlChannel {
 public:
  /// `sockets` as Rendezvous::take_control() gives them.
  ControlChannel(int rank, int world, std::vector<Socket> sockets);

  /// Reads what came and notes it in `ranks` (world entries; a rank other than 0 hears from
  /// rank 0 alone): a rank that was heard has been silent for 0 seconds. Failures are
  /// appended; a verdict is set.
  void receive(std::vector<RankView>* ranks, std::vector<Failure>* failures,
               std::optional<Verdict>* verdict);

  void send_heartbeat(const Progress& progress);
  void send_failure(const Failure& failure);
  void send_verdict(const Verdict& verdict);
  void send_goodbye();

  /// Says that nothing more comes from here, and reads until every peer has closed its end
  /// or `seconds` have passed: a message on its way to a peer is lost if this end is closed
  /// while unread messages wait in it.
  void linger(double seconds);
  /// Closes what is still open.
  void close() { peers_.clear(); }

  /// Waits until something can be read, or `wake_fd` can, or `milliseconds` have passed.
  void wait(int wake_fd, int milliseconds) const;

 private:
  struct Peer {
    int rank;
    Socket socket;
    std::string inbox;
    bool writable = true;  ///< false once a message could not be sent whole
  };
  void send(uint32_t tag, const std::string& payload);
  /// Appends what came to the inbox; false if the connection is closed.
  static bool fill(Peer* peer);
  static bool take_message(Peer* peer, uint32_t* tag, std::string* payload, bool* broken);

  std::vector<Peer> peers_;
};

}  // namespace hirgen
