// The registry of all memory that the device can access.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/block.hpp"

namespace hirgen_cpu {

/// The kinds of memory. kPageable is memory that CUDA did not allocate; kPool is memory of
/// cudaMallocAsync, which has no IPC handles; kPeer belongs to another process.
enum class MemoryKind { kPageable, kPinned, kDevice, kPool, kPeer };

/// An allocation of this process, or one of another process that is mapped here.
struct Allocation {
  MemoryKind kind;
  int device;
  Block block;
};

/// Registers a block as memory of the current device; returns its base address.
void* add_allocation(MemoryKind kind, Block block);

/// Removes the allocation that begins at `base` from the registry. The memory is unmapped when the
/// result and all other references to the allocation are destroyed. First waits for all queued work
/// of its device, as cudaFree does. Throws Failure if there is no such allocation of this kind, or
/// during a capture that forbids it.
std::shared_ptr<Allocation> remove_allocation(void* base, MemoryKind kind);

/// Returns the allocation whose address range (Block::reserved) contains `address`. The range
/// includes a page after the end of the allocation. Returns null for unknown memory.
std::shared_ptr<const Allocation> find_allocation(const void* address);

/// Returns the kind of the memory [address, address + bytes): kPageable for unknown memory. Throws
/// Failure(cudaErrorInvalidValue) if the range exceeds its allocation (the text names `role`), or
/// for a null address if bytes > 0.
MemoryKind classify(const void* address, size_t bytes, const char* role);

/// Like classify(), but also throws for memory that the device cannot access. Does nothing if
/// `bytes` is 0.
void require_device_memory(const void* address, size_t bytes, const char* role);

}  // namespace hirgen_cpu
