#include "nccl/comm.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "core/annotate.hpp"
#include "core/error.hpp"
#include "stream/futex.hpp"
#include "stream/stream.hpp"

namespace hirgen_cpu {
namespace {

using namespace std::chrono_literals;
// Waits check for an abort at this interval, because an abort does not wake them.
constexpr auto kPoll = 20ms;

/// Shared memory of communicators, by inode: `mapped` has the areas that this process maps, and
/// `unclaimed` owns each area that this process created, until one of the process's ranks joins it.
struct Areas {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<Block>> mapped;
  std::map<uint64_t, std::shared_ptr<Block>> unclaimed;
};
Areas& areas() {
  static Areas& state = *new Areas;
  return state;
}

/// Returns a hash that identifies a device of a host. Tests simulate several hosts with
/// HIRGEN_BOOT_ID or host names.
uint64_t place_of(int device) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const char* boot = getenv("HIRGEN_BOOT_ID");
  return std::hash<std::string>()(format("%s %s %d", host, boot == nullptr ? "" : boot, device));
}

}  // namespace

void CommArea::ring() {
  bell.fetch_add(1, std::memory_order_release);
  futex_wake(&bell);
}

std::shared_ptr<Block> create_area() {
  auto area = std::make_shared<Block>(Block::create(sizeof(CommArea)));
  QuietLock lock(areas().mutex);
  areas().mapped[area->address().inode] = area;
  areas().unclaimed[area->address().inode] = area;
  return area;
}

std::shared_ptr<Block> open_area(const BlockAddress& address) {
  QuietLock lock(areas().mutex);
  std::shared_ptr<Block> area = areas().mapped[address.inode].lock();
  areas().unclaimed.erase(address.inode);  // after lock(): `unclaimed` may be the only owner
  if (!area) {
    area = std::make_shared<Block>(Block::open(address));
    areas().mapped[address.inode] = area;
  }
  return area;
}

Comm::~Comm() { settle(); }

void Comm::wait_for_peers(const std::function<bool()>& done) const {
  while (true) {
    uint32_t seen = area().bell.load(std::memory_order_acquire);
    if (aborted()) throw NcclFailure{ncclInternalError, "the communicator was aborted"};
    if (done()) return;
    futex_wait(&area().bell, seen, kPoll);
  }
}

void Comm::join(std::shared_ptr<Block> area_block, int new_rank, int new_size, const Comm* parent) {
  area_ = std::move(area_block);
  rank = new_rank;
  size = new_size;
  next_send.resize(static_cast<size_t>(size));
  next_receive.resize(static_cast<size_t>(size));
  uint32_t ranks = 0;
  area().ranks.compare_exchange_strong(ranks, static_cast<uint32_t>(size));
  if (ranks != 0 && ranks != static_cast<uint32_t>(size)) {
    throw NcclFailure{ncclInvalidArgument,
                      format("rank %d says %d ranks, another one says %u", rank, size, ranks)};
  }
  mine().device.store(place_of(device));
  uint32_t process = 0;
  if (!mine().process.compare_exchange_strong(process, static_cast<uint32_t>(getpid()))) {
    throw NcclFailure{ncclInvalidUsage,
                      format("rank %d is already taken by process %u", rank, process)};
  }
  area().ring();
  wait_for_peers([&] {
    if (parent != nullptr && parent->aborted()) {
      throw NcclFailure{ncclInternalError, "the communicator that is split was aborted"};
    }
    for (int r = 0; r < size; ++r) {
      if (area().rank[r].process.load(std::memory_order_acquire) == 0) return false;
    }
    return true;
  });
  require_own_device();
}

void Comm::require_own_device() const {
  for (int r = 0; r < size; ++r) {
    if (r == rank || area().rank[r].device.load() != place_of(device)) continue;
    throw NcclFailure{
        ncclInvalidUsage,
        format("Duplicate GPU detected: ranks %d and %d both on device %d", rank, r, device)};
  }
}

ncclResult_t Comm::run(std::function<void()> work) {
  auto guarded = [this, work = std::move(work)] {
    ncclResult_t result = nccl_api("ncclComm", [&] {
      work();
      return ncclSuccess;
    });
    if (result != ncclSuccess) fail(result, ncclGetLastError(nullptr));
    ordered_before(this);  // pairs with ordered_after() in status()
    QuietLock lock(mutex_);
    if (status_ == ncclInProgress) status_ = ncclSuccess;
  };
  settle();
  {
    QuietLock lock(mutex_);
    status_ = ncclInProgress;
  }
  const std::lock_guard lock(background_mutex_);
  background_ = std::thread(guarded);
  return ncclInProgress;
}

void Comm::settle() {
  const std::lock_guard lock(background_mutex_);
  if (background_.joinable()) background_.join();
}

ncclResult_t Comm::ask() {
  if (!blocking && std::this_thread::get_id() != maker_) {
    fail(ncclInvalidUsage,
         "two threads ask a non-blocking communicator how it is: NCCL would end its call twice");
  }
  return status();
}

ncclResult_t Comm::status() const {
  {
    QuietLock lock(mutex_);
    if (status_ != ncclSuccess) return status_;
  }
  ordered_after(this);
  if (failed()) return ncclInvalidUsage;
  return fault() != cudaSuccess ? ncclUnhandledCudaError : ncclSuccess;
}

std::string Comm::last_error() const {
  {
    QuietLock lock(mutex_);
    if (!last_error_.empty()) return last_error_;
  }
  if (area_ && failed()) return area().message;
  return fault_text();
}

void Comm::fail(ncclResult_t code, const std::string& text) {
  QuietLock lock(mutex_);
  status_ = code;
  last_error_ = text;
}

// Does not wake waiting threads, since there may be no area yet: they check for an abort every
// kPoll.
void Comm::abort() { aborted_.store(true, std::memory_order_relaxed); }

void Comm::fail_everywhere(const std::string& text) {
  uint32_t expected = 0;
  if (area().failed.compare_exchange_strong(expected, 1)) {
    snprintf(area().message, sizeof area().message, "%s", text.c_str());
    area().failed.store(2, std::memory_order_release);
    area().ring();
  }
  throw Failure{cudaErrorLaunchFailure, text};
}

void Comm::check_failed() const {
  if (failed()) throw Failure{cudaErrorLaunchFailure, area().message};
}

void Comm::order_after_last(Stream& stream) {
  std::shared_ptr<Stream> last;
  uint64_t position;
  {
    QuietLock lock(mutex_);
    last = last_stream_;
    position = last_position_;
  }
  if (last) push_wait(stream, last, position);
}

void Comm::set_last(Stream& stream, uint64_t position) {
  QuietLock lock(mutex_);
  last_stream_ = stream.shared_from_this();
  last_position_ = position;
}

void Comm::drain() {
  std::shared_ptr<Stream> last;
  uint64_t position;
  {
    QuietLock lock(mutex_);
    last = last_stream_;
    position = last_position_;
  }
  if (last) Scheduler::get().wait(last, position);
}

void Comm::wait_for_graphs() const {
  while (graphs_.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

const char* Comm::reach(const BufferAddress& address) {
  if (address.block.pid == getpid()) return static_cast<const char*>(address.pointer);
  auto& mapping = peers_[{address.block.pid, address.block.inode}];
  if (!mapping) mapping = std::make_unique<Block>(Block::open(address.block));
  return static_cast<const char*>(mapping->data()) + address.offset;
}

}  // namespace hirgen_cpu
