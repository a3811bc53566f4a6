// NCCL operations as state machines: a wait for a peer is a state, and does not block a thread.
#pragma once

#include <memory>
#include <string>

#include "nccl/area.hpp"
#include "nccl/comm.hpp"

namespace hirgen_cpu {

/// An operation of one rank, while it runs.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Whether advance() can make progress. Must be cheap and have no side effects.
  virtual bool can_advance() const = 0;
  /// Goes to the next state, unless it must wait for a peer. Returns true when the operation is
  /// complete.
  virtual bool advance() = 0;
};

/// The arguments of a call, kept for its operation.
struct OpCall {
  OpPost post;
  void* receive;  ///< this rank's receive buffer
};

std::unique_ptr<Operation> make_collective(const std::shared_ptr<Comm>& comm, const OpCall& call);
/// Makes a send or a receive. Numbers its message during this call, so that the messages to or from
/// a peer have the order of the calls.
std::unique_ptr<Operation> make_point_to_point(const std::shared_ptr<Comm>& comm,
                                               const OpCall& call);

inline bool is_collective(OpKind kind) { return kind != OpKind::kSend && kind != OpKind::kRecv; }

/// Returns the operation as text: "ncclAllReduce(64 x ncclFloat32, ncclSum)".
std::string describe(const OpPost& post);

}  // namespace hirgen_cpu
