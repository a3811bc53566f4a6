// The CPU device: the objects that UCC's handles point to.
#pragma once

#include <nccl.h>
#include <ucc/api/ucc.h>

#include <atomic>
#include <list>
#include <mutex>
#include <queue>
#include <vector>

namespace hirgen_cpu {

/// A collective. A host function on its stream sets `ended` after the collective's NCCL calls.
struct UccRequest : ucc_coll_req {
  UccRequest(const ucc_coll_args_t& args, ucc_team_h team)
      : ucc_coll_req{UCC_OPERATION_INITIALIZED}, args(args), team(team) {}
  const ucc_coll_args_t args;
  const ucc_team_h team;
  std::atomic<bool> ended{false};
};

}  // namespace hirgen_cpu

struct ucc_lib_info {};

struct ucc_context {
  std::mutex mutex;
  std::list<hirgen_cpu::UccRequest*> posted;  ///< requests in progress
};

struct ucc_team {
  ucc_context_h context = nullptr;
  ucc_oob_coll_t oob{};
  void* exchange = nullptr;       ///< request of the allgather of `id`; null after its end
  ncclUniqueId id{};              ///< NCCL's id on rank 0; zeros on other ranks
  std::vector<ncclUniqueId> ids;  ///< `id` of each rank
  ncclComm_t comm = nullptr;

  int size() const { return static_cast<int>(oob.n_oob_eps); }
  int rank() const { return static_cast<int>(oob.oob_ep); }
};

struct ucc_ee {
  ucc_team_h team;
  cudaStream_t stream;
  std::queue<ucc_ev_t> events;  ///< not yet returned by ucc_ee_get_event()
};
