#include "abi/handle.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/current_error.hpp"
#include "bootstrap/rendezvous.hpp"
#include "hirgen/error.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const hirgen_handle*, std::unique_ptr<hirgen_handle>> handles;
};

// Never freed: a host program may end with handles that it has not destroyed.
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

[[noreturn]] void refuse(const char* what) { throw Error(Code::kUsage, what); }

// The id of the process that called create; 0 before the first create.
std::atomic<pid_t> g_process{0};

bool is_forked() {
  const pid_t process = g_process.load();
  return process != 0 && process != getpid();
}

void refuse_forked() {
  if (is_forked()) {
    refuse(
        "this process was forked from one that uses the library, and CUDA does not work there: "
        "start it with exec, or fork before the first create");
  }
}

hirgen_handle* require_handle(const hirgen_handle* handle) {
  refuse_forked();
  if (handle == nullptr) refuse("the handle is null");
  hirgen_handle* known = known_handle(handle);
  if (known == nullptr) refuse("the handle is not one that this library's create made");
  return known;
}

}  // namespace

std::optional<Error> Embedded::end() {
  {
    const Watchdog::Inside inside(context->watchdog());
    context->finish();
    leave_graphs();
    program.reset();
  }
  return context->end();
}

// Keeps the communicators if, on any rank, graphs of the host program still contain calls: NCCL
// would not destroy a communicator before these graphs are destroyed.
void Embedded::leave_graphs() {
  if (!capturable || context->failure()) return;
  try {
    if (context->rendezvous().sum(graphs.remaining(), "destroy") > 0) context->keep_communicators();
  } catch (...) {
    context->fail(current_error());
  }
}

hirgen_handle* add_handle(std::unique_ptr<Embedded> embedded) {
  auto handle = std::make_unique<hirgen_handle>();
  handle->embedded = std::move(embedded);
  hirgen_handle* const address = handle.get();
  const std::lock_guard lock(registry().mutex);
  registry().handles.emplace(address, std::move(handle));
  return address;
}

void enter_process() {
  refuse_forked();
  g_process.store(getpid());
}

hirgen_handle* known_handle(const hirgen_handle* handle) {
  if (is_forked()) return nullptr;
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().handles.find(handle);
  return found == registry().handles.end() ? nullptr : found->second.get();
}

HandleUse::HandleUse(const hirgen_handle* handle)
    : handle_(require_handle(handle)), lock_(handle_->mutex) {
  if (handle_->embedded == nullptr) refuse("the handle was destroyed");
  // If the device fails here, the call itself gets the same error and reports it.
  const int device = handle_->embedded->context->options().device;
  int current = device;
  if (cudaGetDevice(&current) != cudaSuccess || current == device) return;
  own_device_ = current;
  (void)cudaSetDevice(device);
}

std::optional<Error> HandleUse::destroy() {
  const std::optional<Error> failure = handle_->embedded->end();
  handle_->embedded.reset();
  return failure;
}

HandleUse::~HandleUse() {
  if (own_device_ >= 0) (void)cudaSetDevice(own_device_);
}

}  // namespace hirgen
