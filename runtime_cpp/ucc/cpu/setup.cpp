// The CPU device: UCC's library, contexts and teams. A team is a communicator of NCCL.
#include <memory>

#include "objects.hpp"

const char* ucc_status_string(ucc_status_t status) {
  switch (status) {
    case UCC_OK:
      return "Success";
    case UCC_INPROGRESS:
      return "Operation in progress";
    case UCC_OPERATION_INITIALIZED:
      return "Operation initialized";
    case UCC_ERR_NOT_SUPPORTED:
      return "Operation is not supported";
    case UCC_ERR_NOT_IMPLEMENTED:
      return "Operation is not implemented";
    case UCC_ERR_INVALID_PARAM:
      return "Invalid parameter";
    case UCC_ERR_NO_MEMORY:
      return "Out of memory";
    case UCC_ERR_NO_RESOURCE:
      return "Resources are not available for the operation";
    case UCC_ERR_NO_MESSAGE:
      return "Unhandled error";
    case UCC_ERR_NOT_FOUND:
      return "Not found";
    case UCC_ERR_TIMED_OUT:
      return "Timeout expired";
    case UCC_ERR_IO_ERROR:
      return "Input/output error";
  }
  return "Unknown error";
}

ucc_status_t ucc_lib_config_read(const char* /*env_prefix*/, const char* /*filename*/,
                                 ucc_lib_config_h* config) {
  *config = nullptr;
  return UCC_OK;
}

void ucc_lib_config_release(ucc_lib_config_h /*config*/) {}

ucc_status_t ucc_init_version(unsigned api_major_version, unsigned /*api_minor_version*/,
                              const ucc_lib_params_t* params, ucc_lib_config_h /*config*/,
                              ucc_lib_h* lib_p) {
  const bool threads = (params->mask & UCC_LIB_PARAM_FIELD_THREAD_MODE) != 0;
  if (api_major_version != UCC_API_MAJOR || !threads) return UCC_ERR_INVALID_PARAM;
  *lib_p = new ucc_lib_info;
  return UCC_OK;
}

ucc_status_t ucc_finalize(ucc_lib_h lib_p) {
  delete lib_p;
  return UCC_OK;
}

ucc_status_t ucc_context_config_read(ucc_lib_h /*lib_handle*/, const char* /*filename*/,
                                     ucc_context_config_h* config) {
  *config = nullptr;
  return UCC_OK;
}

void ucc_context_config_release(ucc_context_config_h /*config*/) {}

// Like UCC, runs an allgather and waits for its end. The data are the numbers of the ranks. Returns
// UCC_ERR_INVALID_PARAM if the result is not in the order of the ranks.
ucc_status_t ucc_context_create(ucc_lib_h /*lib_handle*/, const ucc_context_params_t* params,
                                ucc_context_config_h /*config*/, ucc_context_h* context) {
  if ((params->mask & UCC_CONTEXT_PARAM_FIELD_OOB) == 0) return UCC_ERR_INVALID_PARAM;
  const ucc_oob_coll_t& oob = params->oob;
  uint32_t mine = oob.oob_ep;
  std::vector<uint32_t> all(oob.n_oob_eps);
  void* request = nullptr;
  ucc_status_t status = oob.allgather(&mine, all.data(), sizeof mine, oob.coll_info, &request);
  if (status != UCC_OK) return status;
  do {
    status = oob.req_test(request);
  } while (status == UCC_INPROGRESS);
  oob.req_free(request);
  for (uint32_t i = 0; status == UCC_OK && i < all.size(); ++i) {
    if (all[i] != i) status = UCC_ERR_INVALID_PARAM;
  }
  if (status == UCC_OK) *context = new ucc_context;
  return status;
}

ucc_status_t ucc_context_progress(ucc_context_h context) {
  const std::lock_guard lock(context->mutex);
  context->posted.remove_if([](hirgen_cpu::UccRequest* request) {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(request->team->comm, &state) != ncclSuccess || state != ncclSuccess) {
      request->status = UCC_ERR_NO_MESSAGE;
    } else if (request->ended.load(std::memory_order_acquire)) {
      request->status = UCC_OK;
    }
    return request->status != UCC_INPROGRESS;
  });
  return UCC_OK;
}

ucc_status_t ucc_context_destroy(ucc_context_h context) {
  if (!context->posted.empty()) return UCC_ERR_INVALID_PARAM;
  delete context;
  return UCC_OK;
}

// Begins the allgather that brings NCCL's id, which the team's first rank makes, to all ranks.
ucc_status_t ucc_team_create_post(ucc_context_h* contexts, uint32_t num_contexts,
                                  const ucc_team_params_t* team_params, ucc_team_h* new_team) {
  const uint64_t needed = UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_OOB;
  if (num_contexts != 1 || (team_params->mask & needed) != needed ||
      team_params->ep != team_params->oob.oob_ep) {
    return UCC_ERR_INVALID_PARAM;
  }
  auto team = std::make_unique<ucc_team>();
  team->context = contexts[0];
  team->oob = team_params->oob;
  team->ids.resize(team_params->oob.n_oob_eps);
  if (team->rank() == 0 && ncclGetUniqueId(&team->id) != ncclSuccess) return UCC_ERR_NO_RESOURCE;
  const ucc_status_t status = team->oob.allgather(&team->id, team->ids.data(), sizeof team->id,
                                                  team->oob.coll_info, &team->exchange);
  if (status == UCC_OK) *new_team = team.release();
  return status;
}

ucc_status_t ucc_team_create_test(ucc_team_h team) {
  if (team->exchange != nullptr) {
    const ucc_status_t status = team->oob.req_test(team->exchange);
    if (status != UCC_OK) return status;
    team->oob.req_free(team->exchange);
    team->exchange = nullptr;
    const ncclResult_t made =
        ncclCommInitRank(&team->comm, team->size(), team->ids[0], team->rank());
    if (made != ncclSuccess) return UCC_ERR_NO_RESOURCE;
  }
  return UCC_OK;
}

ucc_status_t ucc_team_destroy(ucc_team_h team) {
  const ncclResult_t ended = ncclCommDestroy(team->comm);
  delete team;
  return ended == ncclSuccess ? UCC_OK : UCC_ERR_NO_MESSAGE;
}
