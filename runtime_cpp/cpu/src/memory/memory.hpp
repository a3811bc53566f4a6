// The registry of everything that the device can reach by pointer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/block.hpp"

namespace hirgen_cpu {

enum class MemoryKind { kPageable, kPinned, kDevice, kPeer };

/// An allocation, or another process's one that is mapped here.
struct Allocation {
  MemoryKind kind;
  int device;
  Block block;
};

/// Adds a block; returns its base address.
void* add_allocation(MemoryKind kind, Block block);

/// Takes out the allocation that begins at `base`; it is unmapped when the result dies. Waits for
/// all queued work first, as cudaFree does. Throws Failure unless it is of one of the kinds given.
std::shared_ptr<Allocation> remove_allocation(void* base, MemoryKind kind);

/// The allocation that holds (or that ends right before) the address; null for memory that the
/// device does not know.
std::shared_ptr<const Allocation> find_allocation(const void* address);

/// Kind of [address, address + bytes). Throws Failure(cudaErrorInvalidValue), naming `role`, when
/// the range runs over the end of its allocation.
MemoryKind classify(const void* address, size_t bytes, const char* role);

/// classify(), which must give memory that the device itself can reach.
void require_device_memory(const void* address, size_t bytes, const char* role);

}  // namespace hirgen_cpu
