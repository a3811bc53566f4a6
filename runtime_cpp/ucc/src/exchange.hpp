// UCC's exchange of data before it has connections: an allgather of a team's ranks,
// through the rendezvous of the world.
#pragma once

#include <ucc/api/ucc.h>

#include <exception>
#include <string>
#include <vector>

#include "bootstrap/rendezvous.hpp"

namespace hirgen {

/// The world runs in rounds. In each round a rank offers the data of its current allgather, if UCC
/// has begun one. An allgather ends in the round in which all ranks of the team offer data.
class UccExchange {
 public:
  /// For the team of these world ranks, of which this one is number `position`. If UCC waits in its
  /// own calls, `waits`, the callbacks run the rounds; otherwise the owner does.
  UccExchange(Rendezvous& rendezvous, std::vector<int> ranks, int position, bool waits)
      : rendezvous_(rendezvous), ranks_(std::move(ranks)), position_(position), waits_(waits) {}
  UccExchange(const UccExchange&) = delete;
  UccExchange& operator=(const UccExchange&) = delete;

  /// The functions that UCC calls; valid as long as this object.
  ucc_oob_coll_t callbacks();
  /// One round, together with all ranks of the world. Returns whether all of them are `finished`.
  bool round(bool finished);
  /// Throws the error that a callback could not throw through UCC.
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
