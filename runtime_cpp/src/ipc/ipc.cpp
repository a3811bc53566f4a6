#include "hirgen/ipc.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "ipc/exchange.hpp"
#include "ipc/peer_access.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {

namespace {

constexpr const char* kEndOfSharing = "end of shared memory";

// The IPC peers with which this rank shares a buffer, including this rank; empty if it does not
// share the buffer.
std::vector<int> sharers(const Context& context, const SharedShape& shape) {
  if (shape.mesh == nullptr) return context.ipc_peers();
  std::vector<int> ranks = shape.mesh->team(context.rank(), shape.axis);
  const std::set<int> peers(context.ipc_peers().begin(), context.ipc_peers().end());
  std::erase_if(ranks, [&](int rank) { return !peers.contains(rank); });
  return ranks;
}

}  // namespace

std::vector<int> sharers(const Context& context, const std::vector<SharedShape>& shapes) {
  if (shapes.empty()) return sharers(context, SharedShape{});
  std::set<int> ranks;
  for (const SharedShape& shape : shapes) {
    for (const int rank : sharers(context, shape)) ranks.insert(rank);
  }
  return {ranks.begin(), ranks.end()};
}

struct Peers::Entry {
  void* own;
  SharedShape shape;
  Shared shared;

  // Compares name, mesh and axis, too: one buffer may hold two tensors, and be shared along two
  // axes.
  bool is(const void* buffer, const SharedShape& other) const {
    return own == buffer && shape.name == std::string_view(other.name) &&
           shape.mesh == other.mesh && shape.axis == other.axis;
  }
};

Peers::Peers(Context& context, const char* where, const std::vector<SharedShape>& shapes)
    : context_(context),
      is_ipc_peer_(static_cast<size_t>(context.world())),
      exceptions_(std::uncaught_exceptions()) {
  for (const int rank : context.ipc_peers()) is_ipc_peer_[static_cast<size_t>(rank)] = true;
  require_peer_access(context, sharers(context, shapes), where);
  memory_.cuStreamWaitValue32.function =
      driver_call<decltype(&::cuStreamWaitValue32)>("cuStreamWaitValue32", where);
  memory_.cuStreamWriteValue32.function =
      driver_call<decltype(&::cuStreamWriteValue32)>("cuStreamWriteValue32", where);
  memory_.cuStreamBatchMemOp =
      driver_call<decltype(memory_.cuStreamBatchMemOp)>("cuStreamBatchMemOp", where);
  int lowest = 0;
  int highest = 0;
  HG_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest), where);
  HG_CHECK(cudaStreamCreateWithPriority(&copies_, cudaStreamNonBlocking, highest), where);
  context.name_stream(copies_, "copies");
}

Peers::~Peers() {
  // After a failure peers are gone and the device may never answer.
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  try {
    if (context_.watchdog().failed() || unwinding) {
      abandon();
    } else {
      close();
    }
  } catch (const Error& error) {
    context_.fail(error);
    abandon();
  }
}

// Leaves opened memory and the stream to the context, which frees them only after all waits have
// ended. Flags and exported buffers stay allocated, since peers may still access them.
void Peers::abandon() {
  Remains remains{opened_, {}, copies_};
  for (const auto& entry : entries_) {
    remains.reached.push_back(context_.allocation(entry->own));
  }
  context_.inherit(std::move(remains));
}

void Peers::close() {
  // This wait ends with the calls; if a call does not end, the watchdog ends its waits or the
  // process.
  HG_CHECK(cudaDeviceSynchronize(), kEndOfSharing);
  context_.rendezvous().barrier("shared memory is idle");
  for (; !opened_.empty(); opened_.pop_back()) {
    HG_CHECK(cudaIpcCloseMemHandle(opened_.back()), kEndOfSharing);
  }
  context_.rendezvous().barrier("shared memory is closed");
  for (const auto& entry : entries_) {
    if (entry->shared.waits_ != nullptr) entry->shared.waits_->close();
  }
  for (void* flags : owned_) HG_CHECK(cudaFree(flags), kEndOfSharing);
  context_.forget_stream(copies_);
  HG_CHECK(cudaStreamDestroy(std::exchange(copies_, nullptr)), kEndOfSharing);
}

Shared& Peers::share(void* own, const SharedShape& shape) {
  context_.reached(own);
  return add(own, shape);
}

Shared& Peers::add(void* own, const SharedShape& shape) {
  entries_.push_back(std::make_unique<Entry>(Entry{own, shape, {}}));
  Shared& shared = entries_.back()->shared;
  const std::vector<int> ranks = sharers(context_, shape);
  if (ranks.empty()) return shared;
  shared.where_ = shape.where;
  shared.bytes_ = shape.bytes;
  shared.rows_ = shape.rows;
  shared.transfers_ = shape.transfers * std::max(shape.rows, int64_t{1});
  shared.rank_ = context_.rank();
  void* flags = make_flags(context_, Shared::flag_count(shared.transfers_), shape.where);
  owned_.push_back(flags);
  for (const Mapped& rank : exchange(context_, ranks, {own, flags, shape}, &opened_)) {
    shared.buffers_.push_back(rank.buffer);
    shared.flags_.push_back(reinterpret_cast<CUdeviceptr>(rank.flags));
  }
  shared.waits_ = std::make_shared<FlagWaits>(
      shape.name, shape.where, shared.transfers_, static_cast<uint32_t*>(flags),
      Shared::flag_count(shared.transfers_), std::max(shape.rows, int64_t{1}));
  context_.watch(shared.waits_);
  return shared;
}

Shared& Peers::find(const void* own, const SharedShape& shape) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->is(own, shape); });
  return found != entries_.end() ? (*found)->shared : add(const_cast<void*>(own), shape);
}

const Shared& Peers::share_for_call(const void* own, const SharedShape& shape) {
  Shared& shared = find(own, shape);
  ++shared.sequence_;
  if (shared.waits_ != nullptr) shared.waits_->begin_call(context_.call(), shared.sequence_);
  return shared;
}

const Shared& Peers::share_for_graph(const void* own, const SharedShape& shape) {
  Shared& shared = find(own, shape);
  if (shared.flags_.empty()) return shared;
  shared.counter_ = Shared::pointer(shared.flag(shared.rank_, 3 * shared.transfers_));
  shared.waits_->begin_captured();
  return shared;
}

void count_call(std::initializer_list<const Shared*> buffers, cudaStream_t stream) {
  std::vector<uint32_t*> counters;
  const char* where = "";
  for (const Shared* buffer : buffers) {
    const uint32_t* counter = buffer->sequence_number().counter;
    if (counter == nullptr) continue;  // this rank does not share the buffer
    counters.push_back(const_cast<uint32_t*>(counter));
    where = buffer->where();
  }
  launch_counts(counters, stream, where);
}

}  // namespace hirgen
