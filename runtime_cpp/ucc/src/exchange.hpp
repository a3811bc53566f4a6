// The out-of-band allgather that UCC calls before it has connections. It gathers among the ranks of
// a team, but uses the rendezvous, in which all ranks of the world must take part.
#pragma once

#include <ucc/api/ucc.h>

#include <exception>
#include <string>
#include <vector>

#include "bootstrap/rendezvous.hpp"

namespace hirgen {

/// All ranks of the world take part in rounds. In each round, a rank offers the data of its current
/// allgather, if UCC has begun one. An allgather ends in the first round in which all ranks of its
/// team offer data.
class UccExchange {
 public:
  /// Makes the allgather of the team of these world ranks, in which this rank has index `position`.
  /// If `waits`, UCC waits inside its own calls, so the callback test() runs the rounds. Otherwise
  /// the owner of this object runs them.
  UccExchange(Rendezvous& rendezvous, std::vector<int> ranks, int position, bool waits)
      : rendezvous_(rendezvous), ranks_(std::move(ranks)), position_(position), waits_(waits) {}
  UccExchange(const UccExchange&) = delete;
  UccExchange& operator=(const UccExchange&) = delete;

  /// Returns the functions that UCC calls. They use this object, which must outlive the calls.
  ucc_oob_coll_t callbacks();
  /// Runs one round; collective over the world. Returns whether all ranks are `finished`.
  bool round(bool finished);
  /// Throws the error of a callback, if there was one: callbacks must not throw through UCC.
  void rethrow() const;

 private:
  static ucc_status_t begin(void* mine, void* all, size_t bytes, void* self, void** request);
  static ucc_status_t test(void* self);
  static ucc_status_t release(void* self);
  void deliver(const std::vector<std::string>& offers);

  Rendezvous& rendezvous_;
  const std::vector<int> ranks_;
  const int position_;
  const bool waits_;
  bool pending_ = false;
  std::string mine_;
  char* all_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace hirgen
