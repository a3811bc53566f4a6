#include "hirgen/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <string_view>
#include <utility>

#include "attention/book.hpp"
#include "base/clock.hpp"
#include "bootstrap/rendezvous.hpp"
#include "context/device.hpp"
#include "context/resources.hpp"
#include "gemm/plan_book.hpp"
#include "watchdog/fault.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {
namespace {

constexpr const char* kStart = "start";
constexpr const char* kEnd = "end";

// Marks work during which the watchdog expects the host to make progress.
class Work {
 public:
  explicit Work(Watchdog& watchdog) : watchdog_(watchdog) { watchdog_.begin_work(); }
  ~Work() { watchdog_.end_work(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  Watchdog& watchdog_;
};

bool wants_running_time() {
  const char* text = std::getenv("HIRGEN_RUNNING_TIME");
  return text != nullptr && std::string_view(text) == "1";
}

int nccl_version() {
  int version = 0;
  HG_CHECK(ncclGetVersion(&version), kStart);
  return version;
}

// Chooses and opens the device. A failure goes into the identity, so that every rank
// learns at once that this one cannot run; then returns -1.
int open_rank_device(const ContextOptions& options, Identity* identity) {
  try {
    const int device = choose_device(options);
    const std::string bus_id = open_device(device);
    if (!may_share_gpu()) identity->device = bus_id;
    return device;
  } catch (const Error& error) {
    identity->problem = error.what();
    return -1;
  }
}

void close_comm(ncclComm_t comm) {
  HG_CHECK(ncclCommFinalize(comm), kEnd);
  HG_CHECK(ncclCommDestroy(comm), kEnd);
}

}  // namespace

Context::Context(const ContextOptions& options)
    : options_(options),
      ipc_peers_(static_cast<size_t>(options.world)),
      plans_(std::make_unique<PlanBook>()),
      attentions_(std::make_unique<AttentionBook>()),
      resources_(std::make_unique<Resources>()) {
  // NVLink multicast stays off unless the user asks for it: on a machine that others
  // share, a crashed process can leave its multicast objects behind.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  if (options_.running_time || wants_running_time()) count_running_time();
  std::iota(ipc_peers_.begin(), ipc_peers_.end(), 0);
  fault::arm_from_environment(options_.rank, options_.world);
  Identity identity = identify(options_, nccl_version());
  options_.device = open_rank_device(options_, &identity);
  rendezvous_ = std::make_unique<Rendezvous>(options_, identity);
  resources_->monitor = std::make_unique<DeviceMonitor>(options_.device);
  watchdog_ =
      std::make_unique<Watchdog>(options_, rendezvous_->take_control(), *resources_->monitor,
                                 [this] { rendezvous_->interrupt(); });
  try {
    open_device_handles();
  } catch (const Error& error) {
    // Call end() here: the destructor does not run for an object whose constructor throws.
    fail(error);
    throw end().value_or(error);
  }
}

void Context::open_device_handles() {
  const Work work(*watchdog_);
  const Watchdog::Inside inside(*watchdog_);
  HG_CHECK(
      cudaDeviceGetStreamPriorityRange(&resources_->lowest_priority, &resources_->highest_priority),
      kStart);
  // Make NCCL's communicator at the start, when a rank is least likely to have failed: the watchdog
  // cannot end ncclCommInitRank. Ranks that share a GPU make it only when needed, and then get an
  // error.
  if (!may_share_gpu()) world_comm(kStart);
  HG_CHECK(cublasLtCreate(&cublas_), kStart);
}

Context::~Context() { static_cast<void>(end()); }

// Frees all resources. After a failure, keeps them unless the process survives and all streams have
// drained: communicators whose peers are gone never finish, and the device may never answer.
std::optional<Error> Context::end() {
  if (watchdog_ == nullptr) return std::nullopt;
  const bool unwinding = std::uncaught_exceptions() > resources_->exceptions;
  if (!watchdog_->failed() && unwinding) {
    fail(Error(Code::kInternal, "the program ended by an exception"));
  }
  if (!watchdog_->failed()) {
    try {
      free_all();
    } catch (const Error& error) {
      fail(error);
    }
  }
  if (watchdog_->failed()) {
    if (watchdog_->let_go()) {
      free_remains();
    } else {
      static_cast<void>(resources_->monitor.release());
    }
  }
  std::optional<Error> failed = failure();
  watchdog_.reset();
  return failed;
}

void Context::free_all() {
  const Work work(*watchdog_);
  const Watchdog::Inside inside(*watchdog_);
  Resources& own = *resources_;
  wait_for_calls();  // includes the calls' work on the caller's stream
  for (const auto& [index, stream] : own.workers) synchronize(stream);
  for (cudaStream_t stream : own.team_streams) synchronize(stream);
  own.monitor->forget_all();
  own.freeing = true;
  if (!own.keeps_comms) {
    for (ncclComm_t comm : own.splits) close_comm(comm);
    if (own.world != nullptr) close_comm(own.world);
  }
  for (cudaEvent_t event : own.events) HG_CHECK(cudaEventDestroy(event), kEnd);
  for (const auto& [index, stream] : own.workers) HG_CHECK(cudaStreamDestroy(stream), kEnd);
  for (cudaStream_t stream : own.team_streams) HG_CHECK(cudaStreamDestroy(stream), kEnd);
  for (void* buffer : own.buffers) HG_CHECK(cudaFree(buffer), kEnd);
  HG_CHECK(cublasLtDestroy(cublas_), kEnd);
}

// Frees resources after a failure. Aborted communicators are free already, and no work runs. Errors
// of a failed device are ignored: there is no remedy.
void Context::free_remains() {
  Resources& own = *resources_;
  if (own.freeing) return;  // free_all() stopped midway; do not free twice
  own.monitor->forget_all();
  for (const Remains& remains : own.remains) {
    for (void* memory : remains.opened) (void)cudaIpcCloseMemHandle(memory);
    for (void* memory : remains.reached) std::erase(own.buffers, memory);
    if (remains.stream != nullptr) (void)cudaStreamDestroy(remains.stream);
  }
  for (cudaEvent_t event : own.events) (void)cudaEventDestroy(event);
  for (const auto& [index, stream] : own.workers) (void)cudaStreamDestroy(stream);
  for (cudaStream_t stream : own.team_streams) (void)cudaStreamDestroy(stream);
  for (void* buffer : own.buffers) (void)cudaFree(buffer);
  if (cublas_ != nullptr) (void)cublasLtDestroy(cublas_);
  (void)cudaGetLastError();  // the host program goes on, and must not see the error
}

void Context::keep_communicators() { resources_->keeps_comms = true; }

void Context::inherit(Remains remains) { resources_->remains.push_back(std::move(remains)); }

}  // namespace hirgen
