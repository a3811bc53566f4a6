// CUDA IPC: handles to allocations of other processes.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

#include "core/annotate.hpp"
#include "core/error.hpp"
#include "memory/memory.hpp"

using namespace hirgen_cpu;

namespace {

constexpr uint64_t kMagic = 0x637069206e677268;

/// The content of a handle. A handle identifies a whole allocation, for any pointer into it.
struct HandleContent {
  uint64_t magic;
  uint64_t host;
  BlockAddress block;
};
static_assert(sizeof(HandleContent) <= sizeof(cudaIpcMemHandle_t));

/// Identifies the host by a hash of HIRGEN_BOOT_ID, with which tests simulate several hosts on one
/// machine.
uint64_t host() {
  const char* name = getenv("HIRGEN_BOOT_ID");
  return std::hash<std::string_view>()(name == nullptr ? "" : name);
}

/// The allocations of other processes that are open in this process. Opening an allocation again
/// returns the same address. The memory is unmapped when every open has been closed.
struct Imports {
  struct Entry {
    void* base = nullptr;
    int opened = 0;
  };
  std::mutex mutex;
  std::map<std::pair<pid_t, uint64_t>, Entry> open;  ///< by pid and inode
};
Imports& imports() {
  static Imports& state = *new Imports;
  return state;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
  return api("cudaIpcGetMemHandle", [&] {
    require(handle != nullptr, "null result");
    std::shared_ptr<const Allocation> allocation = find_allocation(devPtr);
    require(allocation && allocation->kind == MemoryKind::kDevice, "not memory of cudaMalloc");
    HandleContent content{kMagic, host(), allocation->block.address()};
    *handle = {};
    memcpy(handle->reserved, &content, sizeof content);
  });
}

cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
  return api("cudaIpcOpenMemHandle", [&] {
    require(devPtr != nullptr && flags == cudaIpcMemLazyEnablePeerAccess,
            "null result, or flags other than cudaIpcMemLazyEnablePeerAccess");
    if (getenv("HIRGEN_CPU_NO_IPC") != nullptr) {
      throw Failure{cudaErrorNotSupported, "HIRGEN_CPU_NO_IPC forbids it, as a container may"};
    }
    HandleContent content;
    memcpy(&content, handle.reserved, sizeof content);
    require(content.magic == kMagic, "not a handle of cudaIpcGetMemHandle");
    require(content.host == host(), "a handle of another host");
    if (content.block.pid == getpid()) {
      throw Failure{cudaErrorDeviceUninitialized, "the memory belongs to this process"};
    }
    QuietLock lock(imports().mutex);
    auto key = std::make_pair(content.block.pid, content.block.inode);
    if (imports().open.count(key) == 0) {
      void* base = add_allocation(MemoryKind::kPeer, Block::open(content.block));
      imports().open[key] = {base, 0};
    }
    Imports::Entry& entry = imports().open[key];
    ++entry.opened;
    *devPtr = entry.base;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return api("cudaIpcCloseMemHandle", [&] {
    QuietLock lock(imports().mutex);
    for (auto entry = imports().open.begin(); entry != imports().open.end(); ++entry) {
      if (entry->second.base != devPtr) continue;
      if (--entry->second.opened > 0) return;
      imports().open.erase(entry);
      remove_allocation(devPtr, MemoryKind::kPeer);
      return;
    }
    throw Failure{cudaErrorInvalidValue, "not an open handle's address"};
  });
}
