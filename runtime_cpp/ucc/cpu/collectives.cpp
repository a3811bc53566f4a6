// The CPU device: implements UCC's collectives by NCCL calls on the stream of an execution engine.
#include <algorithm>
#include <cstddef>

#include "objects.hpp"

using hirgen_cpu::UccRequest;

namespace {

struct Type {
  ucc_datatype_t ucc;
  ncclDataType_t nccl;
  size_t bytes;
};

constexpr Type kTypes[] = {{UCC_DT_UINT8, ncclUint8, 1},     {UCC_DT_INT32, ncclInt32, 4},
                           {UCC_DT_INT64, ncclInt64, 8},     {UCC_DT_FLOAT16, ncclFloat16, 2},
                           {UCC_DT_FLOAT32, ncclFloat32, 4}, {UCC_DT_BFLOAT16, ncclBfloat16, 2}};

const Type* type_of(ucc_datatype_t type) {
  const Type* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [type](const Type& row) { return row.ucc == type; });
  return found == std::end(kTypes) ? nullptr : found;
}

/// The NCCL calls of one collective on one rank.
class Call {
 public:
  Call(const UccRequest& request, cudaStream_t stream)
      : args_(request.args),
        team_(*request.team),
        type_(*type_of(args_.src.info.datatype)),
        stream_(stream),
        src_(static_cast<char*>(args_.src.info.buffer)),
        dst_(static_cast<char*>(args_.dst.info.buffer)) {
    if ((args_.mask & UCC_COLL_ARGS_FIELD_FLAGS) != 0) {
      in_place_ = (args_.flags & UCC_COLL_ARGS_FLAG_IN_PLACE) != 0;
    }
  }

  ncclResult_t issue() {
    const ncclComm_t comm = team_.comm;
    const auto op = static_cast<ncclRedOp_t>(args_.op);
    const auto ranks = static_cast<uint64_t>(team_.size());
    const uint64_t sent = args_.src.info.count;
    const uint64_t received = args_.dst.info.count;
    const int root = static_cast<int>(args_.root);
    switch (args_.coll_type) {
      case UCC_COLL_TYPE_ALLGATHER:
        return ncclAllGather(in_place_ ? slice(dst_, received) : src_, dst_, received / ranks,
                             type_.nccl, comm, stream_);
      case UCC_COLL_TYPE_ALLREDUCE:
        return ncclAllReduce(in_place_ ? dst_ : src_, dst_, received, type_.nccl, op, comm,
                             stream_);
      case UCC_COLL_TYPE_REDUCE_SCATTER:
        if (in_place_) {
          return ncclReduceScatter(dst_, slice(dst_, received), received / ranks, type_.nccl, op,
                                   comm, stream_);
        }
        return ncclReduceScatter(src_, dst_, received, type_.nccl, op, comm, stream_);
      case UCC_COLL_TYPE_REDUCE:
        return ncclReduce(in_place_ ? dst_ : src_, dst_, sent, type_.nccl, op, root, comm, stream_);
      case UCC_COLL_TYPE_BCAST:
        return ncclBroadcast(src_, src_, sent, type_.nccl, root, comm, stream_);
      case UCC_COLL_TYPE_GATHER:
        return exchange(sent, is_root() ? sent : 0, true);
      case UCC_COLL_TYPE_SCATTER:
        return exchange(is_root() ? received : 0, received, false);
      case UCC_COLL_TYPE_ALLTOALL:
        return exchange_all(sent / ranks);
    }
    return ncclInvalidArgument;
  }

 private:
  bool is_root() const { return args_.root == static_cast<uint64_t>(team_.rank()); }

  /// Returns the address of this rank's slice in `whole`, a buffer with `elements` elements that
  /// has a slice for each rank of the team.
  char* slice(char* whole, uint64_t elements) const {
    return part(whole, elements / static_cast<uint64_t>(team_.size()), team_.rank());
  }
  char* part(char* whole, uint64_t elements, int rank) const {
    return whole + static_cast<uint64_t>(rank) * elements * type_.bytes;
  }

  ncclResult_t send(char* from, uint64_t count, int peer) const {
    return ncclSend(from, count, type_.nccl, peer, team_.comm, stream_);
  }
  ncclResult_t receive(char* into, uint64_t count, int peer) const {
    return ncclRecv(into, count, type_.nccl, peer, team_.comm, stream_);
  }

  /// A gather to the root (`to_root`) or a scatter from the root, by sends and receives. The larger
  /// of `sends` and `receives` is the number of elements in one rank's part. The root also sends
  /// its own part to itself, unless the call is in place.
  ncclResult_t exchange(uint64_t sends, uint64_t receives, bool to_root) const {
    const int root = static_cast<int>(args_.root);
    const uint64_t count = std::max(sends, receives);
    const bool keeps = in_place_ && is_root();
    if (ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
    if (!keeps && to_root) (void)send(src_, count, root);
    if (!keeps && !to_root) (void)receive(dst_, count, root);
    for (int peer = 0; is_root() && peer < team_.size(); ++peer) {
      if (keeps && peer == root) continue;
      if (to_root) (void)receive(part(dst_, count, peer), count, peer);
      if (!to_root) (void)send(part(src_, count, peer), count, peer);
    }
    return ncclGroupEnd();  // also returns the error of a refused call
  }

  ncclResult_t exchange_all(uint64_t count) const {
    if (in_place_) return ncclInvalidArgument;
    if (ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
    for (int peer = 0; peer < team_.size(); ++peer) {
      (void)send(part(src_, count, peer), count, peer);
      (void)receive(part(dst_, count, peer), count, peer);
    }
    return ncclGroupEnd();
  }

  const ucc_coll_args_t& args_;
  const ucc_team& team_;
  const Type& type_;
  cudaStream_t stream_;
  char* src_;
  char* dst_;
  bool in_place_ = false;
};

void note_end(void* request) {
  static_cast<UccRequest*>(request)->ended.store(true, std::memory_order_release);
}

}  // namespace

ucc_status_t ucc_collective_init(ucc_coll_args_t* coll_args, ucc_coll_req_h* request,
                                 ucc_team_h team) {
  const ucc_coll_buffer_info_t& src = coll_args->src.info;
  const bool device = src.mem_type == UCC_MEMORY_TYPE_CUDA;
  if (team->comm == nullptr || !device || coll_args->root >= team->oob.n_oob_eps) {
    return UCC_ERR_INVALID_PARAM;
  }
  if (type_of(src.datatype) == nullptr) return UCC_ERR_NOT_SUPPORTED;
  *request = new UccRequest(*coll_args, team);
  return UCC_OK;
}

ucc_status_t ucc_collective_finalize(ucc_coll_req_h request) {
  if (request->status == UCC_INPROGRESS) return UCC_ERR_INVALID_PARAM;
  delete static_cast<UccRequest*>(request);
  return UCC_OK;
}

ucc_status_t ucc_ee_create(ucc_team_h team, const ucc_ee_params_t* params, ucc_ee_h* ee) {
  if (params->ee_type != UCC_EE_CUDA_STREAM) return UCC_ERR_NOT_SUPPORTED;
  *ee = new ucc_ee{team, static_cast<cudaStream_t>(params->ee_context), {}};
  return UCC_OK;
}

ucc_status_t ucc_ee_destroy(ucc_ee_h ee) {
  delete ee;
  return UCC_OK;
}

ucc_status_t ucc_ee_get_event(ucc_ee_h ee, ucc_ev_t** ev) {
  if (ee->events.empty()) return UCC_ERR_NOT_FOUND;
  *ev = new ucc_ev_t(ee->events.front());
  ee->events.pop();
  return UCC_OK;
}

ucc_status_t ucc_ee_ack_event(ucc_ee_h /*ee*/, ucc_ev_t* ev) {
  delete ev;
  return UCC_OK;
}

ucc_status_t ucc_collective_triggered_post(ucc_ee_h ee, ucc_ev_t* ee_event) {
  auto* request = static_cast<UccRequest*>(ee_event->req);
  if (ee_event->ev_type != UCC_EVENT_COMPUTE_COMPLETE || request->team != ee->team) {
    return UCC_ERR_INVALID_PARAM;
  }
  if (Call(*request, ee->stream).issue() != ncclSuccess) return UCC_ERR_INVALID_PARAM;
  if (cudaLaunchHostFunc(ee->stream, note_end, request) != cudaSuccess) return UCC_ERR_NO_RESOURCE;
  request->status = UCC_INPROGRESS;
  ee->events.push({UCC_EVENT_COLLECTIVE_POST, nullptr, 0, request});
  const std::lock_guard lock(ee->team->context->mutex);
  ee->team->context->posted.push_back(request);
  return UCC_OK;
}
