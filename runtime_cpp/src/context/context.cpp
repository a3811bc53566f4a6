#include "hirgen/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "attention/book.hpp"
#include "base/backoff.hpp"
#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "context/device.hpp"
#include "gemm/plan_book.hpp"
#include "watchdog/device_monitor.hpp"
#include "watchdog/fault.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {

// What the context made and frees.
struct Context::Resources {
  std::unique_ptr<DeviceMonitor> monitor;
  ncclComm_t world = nullptr;
  std::vector<std::unique_ptr<Team>> teams;  // Team& stays valid while more are added
  Team* world_team = nullptr;
  std::vector<ncclComm_t> splits;
  std::vector<cudaStream_t> team_streams;
  std::map<int, cudaStream_t> workers;
  std::map<cudaStream_t, std::string> stream_names;
  std::vector<cudaEvent_t> events;
  std::vector<void*> buffers;
  int lowest_priority = 0;
  int highest_priority = 0;
  std::vector<Remains> remains;
  bool freeing = false;  // some of it is freed
  int exceptions = std::uncaught_exceptions();
};

namespace {

constexpr const char* kStart = "start";
constexpr const char* kEnd = "end";

// While it lives, the watchdog expects the host to get on.
class Work {
 public:
  explicit Work(Watchdog& watchdog) : watchdog_(watchdog) { watchdog_.begin_work(); }
  ~Work() { watchdog_.end_work(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  Watchdog& watchdog_;
};

int nccl_version() {
  int version = 0;
  HG_CHECK(ncclGetVersion(&version), kStart);
  return version;
}

// Chooses and opens the device. A failure goes into the identity, so that every rank
// learns at once that this one cannot run.
int open_rank_device(const ContextOptions& options, Identity* identity) {
  try {
    const int device = choose_device(options);
    identity->device = open_device(device);
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

cudaStream_t make_stream(int priority, const char* where) {
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), where);
  return stream;
}

// Whether `ranks` is 0, 1, ... world - 1.
bool is_world(const std::vector<int>& ranks, int world) {
  if (ranks.size() != static_cast<size_t>(world)) return false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<int>(i)) return false;
  }
  return true;
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
    open_world();
  } catch (const Error& error) {
    // The destructor does not run for an object that was never whole.
    fail(error);
    throw end().value_or(error);
  }
}

void Context::open_world() {
  const Work work(*watchdog_);
  const Watchdog::Inside inside(*watchdog_);
  HG_CHECK(
      cudaDeviceGetStreamPriorityRange(&resources_->lowest_priority, &resources_->highest_priority),
      kStart);
  ncclUniqueId id{};
  if (rank() == 0) HG_CHECK(ncclGetUniqueId(&id), kStart);
  const std::string bytes =
      rendezvous_->broadcast(std::string(id.internal, sizeof(id.internal)), "NCCL unique id");
  std::memcpy(id.internal, bytes.data(), std::min(bytes.size(), sizeof(id.internal)));
  // Blocking, as all communicators here: those that are not take a thread a call, and let no other
  // thread than the calling one ask for errors, which the monitor does. The watchdog ends a call
  // that never returns.
  HG_CHECK(ncclCommInitRank(&resources_->world, world(), id, rank()), kStart);
  resources_->monitor->watch(resources_->world);
  HG_CHECK(cublasLtCreate(&cublas_), kStart);
}

Context::~Context() { static_cast<void>(end()); }

// After a failure nothing is freed, unless the process survives and all was let go: peers are gone,
// so communicators never finish, and the device may never answer.
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
  wait_for_calls();  // also what they do on the caller's stream
  for (const auto& [index, stream] : own.workers) synchronize(stream);
  for (cudaStream_t stream : own.team_streams) synchronize(stream);
  own.monitor->forget_all();
  own.freeing = true;
  for (ncclComm_t comm : own.splits) close_comm(comm);
  close_comm(own.world);
  for (cudaEvent_t event : own.events) HG_CHECK(cudaEventDestroy(event), kEnd);
  for (const auto& [index, stream] : own.workers) HG_CHECK(cudaStreamDestroy(stream), kEnd);
  for (cudaStream_t stream : own.team_streams) HG_CHECK(cudaStreamDestroy(stream), kEnd);
  for (void* buffer : own.buffers) HG_CHECK(cudaFree(buffer), kEnd);
  HG_CHECK(cublasLtDestroy(cublas_), kEnd);
}

// Communicators were aborted, which frees them, and nothing runs any more. Where the device has
// failed it refuses, and there is nothing to be done about that.
void Context::free_remains() {
  Resources& own = *resources_;
  if (own.freeing) return;  // nobody knows what is left
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
  (void)cudaGetLastError();  // not for the host program, which goes on
}

Team& Context::team(const std::vector<int>& ranks, const char* where) {
  Resources& own = *resources_;
  const bool whole = is_world(ranks, world());
  if (whole && own.world_team != nullptr) return *own.world_team;
  const auto found = std::find(ranks.begin(), ranks.end(), rank());
  if (found == ranks.end() && !ranks.empty()) {
    throw Error(Code::kInternal, format("%s: rank %d is not in its own team", where, rank()));
  }
  auto team = std::make_unique<Team>();
  team->size = static_cast<int>(ranks.size());
  team->rank = ranks.empty() ? -1 : static_cast<int>(found - ranks.begin());
  team->comm = whole ? own.world : split(ranks, team->rank, where);
  if (!ranks.empty()) {
    team->stream = make_stream(own.highest_priority, where);
    own.team_streams.push_back(team->stream);
    name_stream(team->stream, "communicator, " + std::string(split_label(where).text));
  }
  own.teams.push_back(std::move(team));
  if (whole) own.world_team = own.teams.back().get();
  return *own.teams.back();
}

// The communicator of the team; null if this rank is in none. Teams of one split do not
// overlap, so the lowest rank of a team tells it from the others.
ncclComm_t Context::split(const std::vector<int>& ranks, int position, const char* where) {
  const int color =
      ranks.empty() ? NCCL_SPLIT_NOCOLOR : *std::min_element(ranks.begin(), ranks.end());
  ncclComm_t comm = nullptr;
  HG_CHECK(ncclCommSplit(resources_->world, color, std::max(position, 0), &comm, nullptr), where);
  if (comm == nullptr) return nullptr;
  resources_->splits.push_back(comm);
  resources_->monitor->watch(comm);
  return comm;
}

cudaStream_t Context::worker(int index) {
  cudaStream_t& stream = resources_->workers[index];
  if (stream == nullptr) {
    stream = make_stream(resources_->lowest_priority, "worker stream");
    name_stream(stream, format("compute %d", index));
  }
  return stream;
}

void Context::name_stream(cudaStream_t stream, const std::string& name) {
  resources_->stream_names[stream] = name;
  resources_->monitor->watch(stream);
}

void Context::forget_stream(cudaStream_t stream) {
  resources_->stream_names.erase(stream);
  resources_->monitor->forget(stream);
}

void Context::inherit(Remains remains) { resources_->remains.push_back(std::move(remains)); }

std::string Context::stream_name(cudaStream_t stream) const {
  const auto found = resources_->stream_names.find(stream);
  return found == resources_->stream_names.end() ? "stream" : found->second;
}

Events Context::events(const char* name, const char* where, int64_t count) {
  const auto total = static_cast<size_t>(count * Events::kCalls);
  Events made;
  made.clock_ = &clock_;
  made.set_ = std::make_shared<Events::Set>();
  made.set_->name = name;
  made.set_->where = where;
  made.set_->count = count;
  made.set_->uses = std::vector<std::atomic<uint64_t>>(total);
  for (size_t i = 0; i < total; ++i) {
    cudaEvent_t event = nullptr;
    HG_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), where);
    made.set_->events.push_back(event);
    resources_->events.push_back(event);
  }
  resources_->monitor->watch(made);
  return made;
}

void* Context::allocate(size_t bytes, const std::string& what) {
  if (bytes == 0) return nullptr;
  void* buffer = nullptr;
  const cudaError_t status = cudaMalloc(&buffer, allocation_bytes(bytes));
  // The position of the host is a literal: the watchdog may read it when `what` is gone.
  constexpr const char* kAllocate = "allocate";
  if (status == cudaErrorMemoryAllocation) {
    size_t free = 0;
    size_t total = 0;
    HG_CHECK(cudaMemGetInfo(&free, &total), kAllocate);
    throw Error(Code::kEnvironment,
                format("%s needs %zu bytes of GPU memory and %zu of %zu are free", what.c_str(),
                       bytes, free, total));
  }
  HG_CHECK(status, kAllocate);
  resources_->buffers.push_back(buffer);
  memory_.buffers += static_cast<int64_t>(bytes);
  allocated_[buffer] = {static_cast<int64_t>(bytes), false};
  return buffer;
}

void* Context::workspace(size_t bytes, const std::string& what) {
  void* memory = allocate(bytes, what);
  memory_.buffers -= static_cast<int64_t>(bytes);
  memory_.workspaces += static_cast<int64_t>(bytes);
  return memory;
}

void* Context::allocation(void* buffer) const {
  const auto next = allocated_.upper_bound(buffer);
  if (next == allocated_.begin()) return buffer;
  const auto& [start, own] = *std::prev(next);
  return buffer < static_cast<char*>(start) + own.bytes ? start : buffer;
}

void Context::reached(void* buffer) {
  const auto found = allocated_.find(allocation(buffer));
  if (found == allocated_.end() || found->second.reached) return;
  found->second.reached = true;
  memory_.buffers -= found->second.bytes;
  memory_.ipc += found->second.bytes;
}

void Context::reached(size_t bytes) { memory_.ipc += static_cast<int64_t>(bytes); }

void Context::watch(std::shared_ptr<FlagWaits> waits) {
  resources_->monitor->watch(std::move(waits));
}

void Context::begin_call() {
  const int64_t call = watchdog_->begin_call();
  clock_.call.store(call);
  fault::begin_call(call);
}

void Context::call_issued(cudaStream_t caller) {
  DeviceMonitor& monitor = *resources_->monitor;
  cudaEvent_t event = monitor.take_event();
  // Of the watchdog, not of the program: "::" keeps it out of traces.
  HG_CHECK(::cudaEventRecord(event, caller), "end of call");
  monitor.call_issued(event);
  watchdog_->call_issued();
}

// Waits until `done` holds, which `what` did not in time, and no longer than the deadline.
template <typename Done>
void Context::wait_until(Done done, const char* what) {
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> limit(options_.timeout_seconds);
  Backoff backoff;
  while (!done()) {
    if (const auto failed = failure()) throw *failed;
    if (const std::string text = resources_->monitor->failure(); !text.empty()) {
      throw Error(Code::kDevice, text);
    }
    if (Clock::now() - std::max(start, resources_->monitor->last_completion()) > limit) {
      throw Error(Code::kTimeout,
                  std::string(what) + " within " + seconds_text(options_.timeout_seconds));
    }
    backoff.pause();
  }
}

void Context::synchronize(cudaStream_t stream) {
  const auto idle = [stream] {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) HG_CHECK(status, "synchronize");
    return status == cudaSuccess;
  };
  wait_until(idle, "the stream did not become idle");
}

void Context::wait_for_calls() {
  wait_until([this] { return resources_->monitor->all_completed(); }, "the calls did not complete");
}

void Context::finish() {
  if (watchdog_->failed()) return;
  try {
    wait_for_calls();
  } catch (const Error& error) {
    fail(error);
  }
}

void Context::fail(const Error& error) { watchdog_->fail(error); }

std::optional<Error> Context::failure() const { return watchdog_->failure(); }

void Context::call_failed(cudaStream_t caller) {
  if (!options_.survives) return;
  cudaEvent_t event = nullptr;
  try {
    event = resources_->monitor->take_event();
  } catch (const Error&) {
    return;  // the device takes no more work: there is nothing to wait for
  }
  if (::cudaEventRecord(event, caller) == cudaSuccess) resources_->monitor->call_issued(event);
}

}  // namespace hirgen
