#include "memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "core/annotate.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "graph/capture.hpp"
#include "log/log.hpp"
#include "stream/scheduler.hpp"

namespace hirgen_cpu {
namespace {

// New memory is filled with bytes that are NaN in every floating type, which reveals reads before
// the first write. Blocks of more than two times kPoisonedEnd are filled only at both ends:
// touching all of a large workspace would cost time and memory.
constexpr size_t kPoisonedEnd = size_t{4} << 20;
constexpr int kPoison = 0xFF;

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, std::shared_ptr<Allocation>> by_base;
};
Registry& registry() {
  static Registry& state = *new Registry;
  return state;
}

void poison(const Block& block) {
  Unobserved unobserved;
  size_t end = std::min(block.bytes(), kPoisonedEnd);
  memset(block.data(), kPoison, end);
  memset(static_cast<char*>(block.data()) + block.bytes() - end, kPoison, end);
}

/// Does the work of cudaMalloc, cudaMallocAsync, cudaMallocHost and cudaHostAlloc. For zero bytes,
/// sets `*result` to null, as CUDA does.
void allocate(void** result, size_t bytes, MemoryKind kind) {
  require(result != nullptr, "null result");
  forbid_unsafe_call();
  *result = nullptr;
  if (bytes == 0) return;
  Block block = Block::create(bytes);
  poison(block);
  *result = add_allocation(kind, std::move(block));
  log_allocation(*result);
}

}  // namespace

void* add_allocation(MemoryKind kind, Block block) {
  void* base = block.data();
  auto entry = std::make_shared<Allocation>(Allocation{kind, current_device(), std::move(block)});
  QuietLock lock(registry().mutex);
  registry().by_base[reinterpret_cast<uintptr_t>(base)] = std::move(entry);
  return base;
}

std::shared_ptr<Allocation> remove_allocation(void* base, MemoryKind kind) {
  forbid_unsafe_call();
  std::shared_ptr<const Allocation> found = find_allocation(base);
  if (!found || found->block.data() != base || found->kind != kind) {
    throw Failure{cudaErrorInvalidValue, format("%p is not the base of such an allocation", base)};
  }
  Scheduler::get().wait_all(found->device);
  QuietLock lock(registry().mutex);
  auto entry = registry().by_base.extract(reinterpret_cast<uintptr_t>(base));
  require(!entry.empty(), "the allocation was freed by another thread");
  return entry.mapped();
}

std::shared_ptr<const Allocation> find_allocation(const void* address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  QuietLock lock(registry().mutex);
  auto after = registry().by_base.upper_bound(at);
  if (after == registry().by_base.begin()) return nullptr;
  --after;
  return at - after->first < after->second->block.reserved() ? after->second : nullptr;
}

MemoryKind classify(const void* address, size_t bytes, const char* role) {
  require(address != nullptr || bytes == 0, "null pointer");
  std::shared_ptr<const Allocation> allocation = find_allocation(address);
  if (!allocation) return MemoryKind::kPageable;
  auto offset = static_cast<size_t>(static_cast<const char*>(address) -
                                    static_cast<const char*>(allocation->block.data()));
  size_t size = allocation->block.bytes();
  if (offset > size || bytes > size - offset) {
    throw Failure{
        cudaErrorInvalidValue,
        format("%s: %zu bytes at offset %zu run over the end of an allocation of %zu bytes", role,
               bytes, offset, size)};
  }
  return allocation->kind;
}

void require_device_memory(const void* address, size_t bytes, const char* role) {
  if (bytes == 0 || classify(address, bytes, role) != MemoryKind::kPageable) return;
  throw Failure{cudaErrorInvalidValue, format("%s: %p is not memory of the device", role, address)};
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return api("cudaMalloc", [&] { allocate(devPtr, size, MemoryKind::kDevice); });
}

// cudaMallocAsync and cudaFreeAsync take effect during the call, not in stream order. cudaFreeAsync
// first waits for all work of the device, so the memory stays valid for longer than CUDA
// guarantees.
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t stream) {
  return api("cudaMallocAsync", [&] {
    static_cast<void>(stream);
    allocate(devPtr, size, MemoryKind::kPool);
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t stream) {
  return api("cudaFreeAsync", [&] {
    static_cast<void>(stream);
    if (devPtr != nullptr) remove_allocation(devPtr, MemoryKind::kPool);
  });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return api("cudaMallocHost", [&] { allocate(ptr, size, MemoryKind::kPinned); });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  return api("cudaHostAlloc", [&] {
    require(flags <= (cudaHostAllocPortable | cudaHostAllocMapped), "unknown flags");
    allocate(pHost, size, MemoryKind::kPinned);
  });
}

cudaError_t cudaFree(void* devPtr) {
  return api("cudaFree", [&] {
    if (devPtr != nullptr) remove_allocation(devPtr, MemoryKind::kDevice);
  });
}

cudaError_t cudaFreeHost(void* ptr) {
  return api("cudaFreeHost", [&] {
    if (ptr != nullptr) remove_allocation(ptr, MemoryKind::kPinned);
  });
}

// Unknown memory is not an error: it is unregistered, and belongs to no device.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return api("cudaPointerGetAttributes", [&] {
    require(attributes != nullptr, "null result");
    *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr,
                   const_cast<void*>(ptr)};
    std::shared_ptr<const Allocation> allocation = find_allocation(ptr);
    if (!allocation) return;
    const auto* base = static_cast<const char*>(allocation->block.data());
    if (static_cast<const char*>(ptr) >= base + allocation->block.bytes()) return;
    bool pinned = allocation->kind == MemoryKind::kPinned;
    *attributes = {pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice, allocation->device,
                   const_cast<void*>(ptr), pinned ? const_cast<void*>(ptr) : nullptr};
  });
}
