#include "library.hpp"

#include <chrono>
#include <numeric>
#include <vector>

#include "base/text.hpp"
#include "exchange.hpp"

namespace hirgen {

void check(ucc_status_t status, const char* call, const char* where, const char* file, int line) {
  if (status >= UCC_OK) [[likely]]
    return;
  throw Error(Code::kDevice, format("%s: UCC: %s\n  in %s (%s:%d)", where,
                                    ucc_status_string(status), call, file, line));
}

Ucc::Ucc(Context& context, const char* where)
    : library_(std::make_unique<UccLibrary>(context, where)) {}

Ucc::~Ucc() = default;

UccLibrary::UccLibrary(Context& context, const char* where) : context_(context) {
  open(where);
  thread_ = std::thread([this] { progress(); });
}

void UccLibrary::open(const char* where) {
  ucc_lib_config_h library_config = nullptr;
  HG_CHECK(ucc_lib_config_read(nullptr, nullptr, &library_config), where);
  ucc_lib_params_t library{};
  library.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE;
  library.thread_mode = UCC_THREAD_MULTIPLE;
  HG_CHECK(ucc_init(&library, library_config, &lib_), where);
  ucc_lib_config_release(library_config);

  std::vector<int> world(static_cast<size_t>(context_.world()));
  std::iota(world.begin(), world.end(), 0);
  UccExchange exchange(context_.rendezvous(), world, context_.rank(), true);
  ucc_context_config_h config = nullptr;
  HG_CHECK(ucc_context_config_read(lib_, nullptr, &config), where);
  ucc_context_params_t params{};
  params.mask = UCC_CONTEXT_PARAM_FIELD_TYPE | UCC_CONTEXT_PARAM_FIELD_OOB;
  params.type = UCC_CONTEXT_SHARED;
  params.oob = exchange.callbacks();
  const ucc_status_t made = ucc_context_create(lib_, &params, config, &ucc_);
  exchange.rethrow();
  HG_CHECK(made, where);
  ucc_context_config_release(config);
}

UccLibrary::~UccLibrary() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (!sound()) return;
  (void)ucc_context_destroy(ucc_);
  (void)ucc_finalize(lib_);
}

bool UccLibrary::sound() const {
  return !broken_ && !context_.failure() && std::uncaught_exceptions() <= exceptions_;
}

void UccLibrary::give_up(const std::string& text) const {
  if (const auto failed = context_.failure()) throw *failed;
  throw Error(Code::kTimeout, text);
}

void UccLibrary::take(ucc_coll_req_h request, const char* where) {
  const std::lock_guard lock(mutex_);
  posted_.push_back({request, where});
  changed_.notify_all();
}

void UccLibrary::progress() {
  (void)cudaSetDevice(context_.options().device);
  Backoff backoff;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !posted_.empty(); });
    if (stop_) return;
    const Posted oldest = posted_.front();
    lock.unlock();
    const bool finished = finish(oldest);
    if (finished) {
      backoff = {};
    } else {
      backoff.pause();
    }
    lock.lock();
    if (!finished) continue;
    posted_.pop_front();
    changed_.notify_all();
  }
}

// Progresses UCC. Returns false while the collective is in progress. Otherwise frees its request,
// after noting its failure if it failed.
bool UccLibrary::finish(const Posted& posted) {
  const ucc_status_t moved = ucc_context_progress(ucc_);
  ucc_status_t status = ucc_collective_test(posted.request);
  if (moved < 0) status = moved;
  if (status == UCC_INPROGRESS || status == UCC_OPERATION_INITIALIZED) return false;
  if (status < 0) {
    context_.note_failure(format("%s: UCC: %s", posted.where, ucc_status_string(status)));
  }
  (void)ucc_collective_finalize(posted.request);
  return true;
}

void UccLibrary::drain() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> limit(context_.options().timeout_seconds);
  if (!changed_.wait_for(lock, limit, [this] { return posted_.empty(); })) broken_ = true;
}

}  // namespace hirgen
