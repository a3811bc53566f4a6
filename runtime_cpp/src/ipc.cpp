#include "hirgen/ipc.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "ipc_exchange.hpp"
#include "ipc_reach.hpp"
#include "rendezvous.hpp"
#include "text.hpp"
#include "watchdog.hpp"

namespace hirgen {

namespace {

constexpr const char* kEndOfSharing = "end of shared memory";

}  // namespace

struct Peers::Entry {
  void* own;
  const char* name;  // of the tensor: one buffer may serve two
  Shared shared;
};

Peers::Peers(Context& context, const char* where)
    : context_(context), exceptions_(std::uncaught_exceptions()) {
  require_reach(context, where);
  memory_.cuStreamWaitValue32 =
      driver_call<decltype(memory_.cuStreamWaitValue32)>("cuStreamWaitValue32", where);
  memory_.cuStreamWriteValue32 =
      driver_call<decltype(memory_.cuStreamWriteValue32)>("cuStreamWriteValue32", where);
  memory_.cuStreamBatchMemOp =
      driver_call<decltype(memory_.cuStreamBatchMemOp)>("cuStreamBatchMemOp", where);
  int lowest = 0;
  int highest = 0;
  HG_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest), where);
  HG_CHECK(cudaStreamCreateWithPriority(&copies_, cudaStreamNonBlocking, highest), where);
}

Peers::~Peers() {
  // After a failure peers are gone and the device may never answer: the process is to end.
  if (context_.watchdog().failed() || std::uncaught_exceptions() > exceptions_) return;
  try {
    close();
  } catch (const Error& error) {
    context_.fail(error);
  }
}

void Peers::close() {
  // Ends when all calls have; the watchdog ends the process if one does not.
  HG_CHECK(cudaDeviceSynchronize(), kEndOfSharing);
  context_.rendezvous().barrier("shared memory is idle");
  for (void* base : opened_) HG_CHECK(cudaIpcCloseMemHandle(base), kEndOfSharing);
  context_.rendezvous().barrier("shared memory is closed");
  for (void* words : owned_) HG_CHECK(cudaFree(words), kEndOfSharing);
  HG_CHECK(cudaStreamDestroy(copies_), kEndOfSharing);
}

Shared& Peers::share(void* own, const SharedShape& shape) {
  auto entry = std::make_unique<Entry>(Entry{own, shape.name, {}});
  Shared& shared = entry->shared;
  shared.transfers_ = shape.transfers;
  shared.rank_ = context_.rank();
  void* words = make_words(context_, Shared::words(shape.transfers), shape.where);
  owned_.push_back(words);
  const std::vector<Mapped> ranks = exchange(context_, {own, words, shape}, &opened_);
  for (const Mapped& rank : ranks) {
    shared.buffers_.push_back(rank.buffer);
    shared.words_.push_back(reinterpret_cast<CUdeviceptr>(rank.words));
  }
  entries_.push_back(std::move(entry));
  return shared;
}

Shared& Peers::find(const void* own, const SharedShape& shape) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->own == own && entry->name == std::string_view(shape.name);
  });
  return found != entries_.end() ? (*found)->shared : share(const_cast<void*>(own), shape);
}

const Shared& Peers::begin_call(const void* own, const SharedShape& shape) {
  Shared& shared = find(own, shape);
  ++shared.call_;
  return shared;
}

const Shared& Peers::begin_captured(const void* own, const SharedShape& shape,
                                    cudaStream_t stream) {
  Shared& shared = find(own, shape);
  shared.counter_ = Shared::pointer(shared.word(shared.rank_, 3 * shared.transfers_));
  launch_count(shared.counter_, stream, shape.where);
  return shared;
}

}  // namespace hirgen
