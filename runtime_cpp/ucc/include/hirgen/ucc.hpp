// Collectives of UCC in the order of streams, for schedules with `via: ucc`. The ranks exchange
// UCC's addresses through the program's rendezvous.
#pragma once

#include <ucc/api/ucc.h>

#include <map>
#include <memory>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// Throws Error(kDevice) if `status` is an error. `where` is the spec position.
void check(ucc_status_t status, const char* call, const char* where, const char* file, int line);

class UccLibrary;

/// Owns UCC's library and context of a program on one rank.
class Ucc {
 public:
  /// Collective over the world. `where` names the program in errors.
  Ucc(Context& context, const char* where);
  /// After a failure, does not free UCC's objects: UCC cannot end a collective whose peer is gone.
  ~Ucc();
  Ucc(const Ucc&) = delete;
  Ucc& operator=(const Ucc&) = delete;

 private:
  friend class UccTeam;
  std::unique_ptr<UccLibrary> library_;
};

/// The kind of a collective, with UCC's enumerators.
struct UccKind {
  ucc_coll_type_t type;
  ucc_reduction_op_t op = UCC_OP_SUM;  ///< used by reductions
  int root = 0;                        ///< rank in the team; used by collectives with a root
};

/// A UCC team of ranks, with a stream.
class UccTeam {
 public:
  /// Collective over the world. Each rank passes the world ranks of its team, or an empty list if
  /// it is in no team.
  UccTeam(Ucc& ucc, const std::vector<int>& ranks, const char* where);
  ~UccTeam();
  UccTeam(const UccTeam&) = delete;
  UccTeam& operator=(const UccTeam&) = delete;

  /// Issues a collective; blocks the host until UCC has started it. The collective begins after the
  /// earlier work of stream `on`, and the later work of `on` begins after the collective. `count`
  /// is the number of elements of one rank's slice; with 0, post() does nothing. A collective other
  /// than an all-to-all is in place if both buffers are the same, or if the smaller buffer is this
  /// rank's slice of the larger one, as in NCCL.
  void post(const UccKind& kind, const void* in, void* out, int64_t count, ucc_datatype_t type,
            cudaStream_t on, const char* where);

  const int rank;  ///< of this process, within the team; -1: in no team
  const int size;
  const cudaStream_t stream;

 private:
  UccTeam(UccLibrary& library, const Team& team, const std::vector<int>& ranks, const char* where);
  void make(const std::vector<int>& ranks, const char* where);
  ucc_ee_h engine(cudaStream_t on, const char* where);
  void await_start(ucc_ee_h engine, ucc_coll_req_h request, const char* where);

  UccLibrary& library_;
  ucc_team_h team_ = nullptr;
  std::map<cudaStream_t, ucc_ee_h> engines_;  ///< UCC's execution engine of each stream
};

}  // namespace hirgen
