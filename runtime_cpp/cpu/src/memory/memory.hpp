// The registry of all memory that the device can access.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/block.hpp"

namespace hirgen_cpu {

/// Memory of a pool has no IPC handles.
enum class MemoryKind { kPageable, kPinned, kDevice, kPool, kPeer };

/// An allocation of this process, or one of another process that is mapped here.
struct Allocation {
  MemoryKind kind;
  int device;
  Block block;
};

/// Adds a block; returns its base address.
void* add_allocation(MemoryKind kind, Block block);

/// Removes the allocation that begins at `base`; it is unmapped when the result is destroyed. Waits
/// for all queued work first, as cudaFree does. Throws Failure unless its kind is one of the given
/// kinds.
std::shared_ptr<Allocation> remove_allocation(void* base, MemoryKind kind);

/// The allocation that contains the address, or ends right before it; null for unknown memory.
std::shared_ptr<const Allocation> find_allocation(const void* address);

/// The kind of [address, address + bytes). Throws Failure(cudaErrorInvalidValue), which names
/// `role`, if the range exceeds its allocation.
MemoryKind classify(const void* address, size_t bytes, const char* role);

/// Like classify(), but also throws for memory that the device cannot access.
void require_device_memory(const void* address, size_t bytes, const char* role);

}  // namespace hirgen_cpu
