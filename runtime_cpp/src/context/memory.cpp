// Allocates and counts the device memory of a context.
#include <iterator>

#include "base/open_files.hpp"
#include "base/text.hpp"
#include "context/device.hpp"
#include "context/resources.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

void* Context::allocate(size_t bytes, const std::string& what) {
  if (bytes == 0) return nullptr;
  void* buffer = nullptr;
#ifdef HIRGEN_CPU_DEVICE
  hirgen_cpu_label(what.c_str());
#endif
  const cudaError_t status = cudaMalloc(&buffer, allocation_bytes(bytes));
  // The position of the host must be a literal: the watchdog may read it after `what` is destroyed.
  constexpr const char* kAllocate = "allocate";
  if (status == cudaErrorMemoryAllocation) {
    size_t free = 0;
    size_t total = 0;
    HG_CHECK(cudaMemGetInfo(&free, &total), kAllocate);
    if (const std::string files = too_many_files(); !files.empty()) {
      throw Error(Code::kEnvironment, "no memory for " + what + ": " + files);
    }
    throw Error(Code::kEnvironment,
                format("%s needs %zu bytes of GPU memory and %zu of %zu are free", what.c_str(),
                       bytes, free, total));
  }
  HG_CHECK(status, kAllocate);
  resources_->buffers.push_back(buffer);
  memory_.buffers += static_cast<int64_t>(bytes);
  allocated_[buffer] = {static_cast<int64_t>(bytes), false};
  return buffer;
}

void* Context::workspace(size_t bytes, const std::string& what) {
  void* memory = allocate(bytes, what);
  memory_.buffers -= static_cast<int64_t>(bytes);
  memory_.workspaces += static_cast<int64_t>(bytes);
  return memory;
}

void* Context::workspace(size_t bytes, void* scratch, size_t scratch_bytes,
                         const std::string& what) {
  return bytes <= scratch_bytes ? scratch : workspace(bytes, what);
}

void* Context::allocation(void* buffer) const {
  const auto next = allocated_.upper_bound(buffer);
  if (next == allocated_.begin()) return buffer;
  const auto& [start, own] = *std::prev(next);
  return buffer < static_cast<char*>(start) + own.bytes ? start : buffer;
}

void Context::reached(void* buffer) {
  const auto found = allocated_.find(allocation(buffer));
  if (found == allocated_.end() || found->second.reached) return;
  found->second.reached = true;
  memory_.buffers -= found->second.bytes;
  memory_.ipc += found->second.bytes;
}

void Context::reached(size_t bytes) { memory_.ipc += static_cast<int64_t>(bytes); }

}  // namespace hirgen
