// Creates, queries and ends communicators.
#include <cstring>
#include <utility>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/handles.hpp"
#include "nccl/comm.hpp"

using namespace hirgen_cpu;

struct ncclComm {
  std::shared_ptr<Comm> comm;
};

namespace {

thread_local std::string last_error_of_thread;

constexpr char kIdMagic[8] = "hirgen1";

/// The content of a unique id.
struct IdContent {
  char magic[8];
  BlockAddress area;
};
static_assert(sizeof(IdContent) <= sizeof(ncclUniqueId));

}  // namespace

namespace hirgen_cpu {

bool is_blocking(const ncclConfig_t* config, bool inherited) {
  if (config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT) return inherited;
  return config->blocking != 0;
}

void check_config(const ncclConfig_t* config) {
  nccl_require(config == nullptr || config->magic == NCCL_API_MAGIC,
               "the configuration was not set to NCCL_CONFIG_INITIALIZER");
}

ncclComm_t publish(const std::shared_ptr<Comm>& comm) {
  return Handles<ncclComm>::get().add(new ncclComm{comm});
}

ncclResult_t start(const std::shared_ptr<Comm>& comm, std::function<void()> work) {
  comm->run(std::move(work));
  if (defer_to_group(comm)) return comm->blocking ? ncclSuccess : ncclInProgress;
  if (!comm->blocking) return ncclInProgress;
  comm->settle();
  ncclResult_t status = comm->status();
  if (status != ncclSuccess) last_error_of_thread = comm->last_error();
  return status;
}

std::shared_ptr<Comm> comm_of(ncclComm_t handle) {
  try {
    return Handles<ncclComm>::get().check(handle).comm;
  } catch (const Failure&) {
    throw NcclFailure{ncclInvalidArgument, "the communicator was destroyed or never created"};
  }
}

ncclResult_t nccl_api(const char* name, const std::function<ncclResult_t()>& body) {
  ApiScope scope(name);
  try {
    return body();
  } catch (const NcclFailure& failure) {
    last_error_of_thread = std::string(name) + ": " + failure.text;
    return failure.code;
  } catch (const Failure& failure) {
    record_error(failure.code, failure.text);
    last_error_of_thread = std::string(name) + ": " + failure.text;
    if (failure.code == cudaErrorMapBufferObjectFailed) return ncclSystemError;
    return failure.code == cudaErrorInvalidValue ? ncclInvalidArgument : ncclUnhandledCudaError;
  }
}

}  // namespace hirgen_cpu

ncclResult_t ncclGetVersion(int* version) {
  return nccl_api("ncclGetVersion", [&] {
    nccl_require(version != nullptr, "null result");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (comm != nullptr) {
    try {
      last_error_of_thread = comm_of(comm)->last_error();
    } catch (const NcclFailure& failure) {
      last_error_of_thread = failure.text;
    }
  }
  return last_error_of_thread.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return nccl_api("ncclGetUniqueId", [&] {
    nccl_require(uniqueId != nullptr, "null result");
    IdContent content{};
    memcpy(content.magic, kIdMagic, sizeof kIdMagic);
    content.area = create_area()->address();
    *uniqueId = {};
    memcpy(uniqueId->internal, &content, sizeof content);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  return nccl_api("ncclCommInitRankConfig", [&] {
    IdContent content;
    memcpy(&content, commId.internal, sizeof content);
    nccl_require(comm != nullptr, "null result");
    nccl_require(nranks > 0 && nranks <= kMaxRanks, "number of ranks out of range (1 to 64)");
    nccl_require(rank >= 0 && rank < nranks, "rank out of range");
    nccl_require(memcmp(content.magic, kIdMagic, sizeof kIdMagic) == 0, "not a unique id");
    check_config(config);
    auto state = std::make_shared<Comm>(current_device(), is_blocking(config, true));
    *comm = publish(state);
    Comm* raw = state.get();
    return start(state, [=] { raw->join(open_area(content.area), rank, nranks); });
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return ncclCommInitRankConfig(comm, nranks, commId, rank, nullptr);
}

// As in NCCL, the next three functions do nothing if the communicator is null.

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return nccl_api("ncclCommFinalize", [&] {
    std::shared_ptr<Comm> state = comm_of(comm);
    Comm* raw = state.get();
    return start(state, [=] { raw->drain(); });
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return nccl_api("ncclCommDestroy", [&] {
    std::shared_ptr<Comm> state = comm_of(comm);
    state->settle();
    state->drain();
    state->wait_for_graphs();
    delete Handles<ncclComm>::get().remove(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return nccl_api("ncclCommAbort", [&] {
    std::shared_ptr<Comm> state = comm_of(comm);
    state->abort();
    state->settle();
    state->drain();
    state->wait_for_graphs();
    delete Handles<ncclComm>::get().remove(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return nccl_api("ncclCommGetAsyncError", [&] {
    nccl_require(asyncError != nullptr, "null result");
    *asyncError = comm_of(comm)->ask();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return nccl_api("ncclCommCount", [&] {
    nccl_require(count != nullptr, "null result");
    *count = comm_of(comm)->size;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return nccl_api("ncclCommUserRank", [&] {
    nccl_require(rank != nullptr, "null result");
    *rank = comm_of(comm)->rank;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return nccl_api("ncclCommCuDevice", [&] {
    nccl_require(device != nullptr, "null result");
    *device = comm_of(comm)->device;
    return ncclSuccess;
  });
}
