// Copies and fills, in the order of their stream. Outside of captures, as CUDA's documentation
// says, a pageable source is read during the call, and a copy to pageable memory or within host
// memory is complete when the call returns. cudaMemcpy also waits for copies between pinned and
// device memory.
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "graph/capture.hpp"
#include "log/log.hpp"
#include "memory/memory.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

namespace {

bool on_device(MemoryKind kind) {
  return kind != MemoryKind::kPageable && kind != MemoryKind::kPinned;
}

struct Route {
  MemoryKind from, to;
};

/// Checks that both ranges lie within their allocations, and that `kind` matches their kinds of
/// memory. Returns these kinds.
Route check_copy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  Route route{classify(src, count, "source"), classify(dst, count, "destination")};
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    throw Failure{cudaErrorInvalidMemcpyDirection, "unknown kind of copy"};
  }
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) return route;
  if (to_device != on_device(route.to)) {
    throw Failure{cudaErrorInvalidValue, format("the destination %p is %smemory of the device", dst,
                                                to_device ? "not " : "")};
  }
  if (from_device != on_device(route.from)) {
    throw Failure{cudaErrorInvalidValue, format("the source %p is %smemory of the device", src,
                                                from_device ? "not " : "")};
  }
  return route;
}

void wait_for(cudaStream_t stream) {
  std::shared_ptr<Stream> target = resolve(stream);
  Scheduler::get().wait(target, Scheduler::get().submitted(*target));
  throw_fault();
}

/// Enqueues the copy. Outside of captures, first copies a pageable source to a staging buffer.
void enqueue_copy(void* dst, const void* src, size_t count, MemoryKind from, cudaStream_t stream) {
  log_call("copy", stream, [&] {
    return std::vector{logged_run(src, false, 1, count), logged_run(dst, true, 1, count)};
  });
  if (from != MemoryKind::kPageable || capture_of(stream)) {
    return submit_call(stream, [=] { memcpy(dst, src, count); });
  }
  const char* bytes = static_cast<const char*>(src);
  auto staged = std::make_shared<const std::vector<char>>(bytes, bytes + count);
  submit_call(stream, [=] { memcpy(dst, staged->data(), count); });
}

void fill(void* at, int value, size_t count, cudaStream_t stream) {
  require_device_memory(at, count, "destination");
  if (count == 0) return;
  log_call("fill", stream, [&] { return std::vector{logged_run(at, true, 1, count)}; });
  submit_call(stream, [=] { memset(at, value, count); });
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api("cudaMemcpyAsync", [&] {
    if (count == 0) return;
    Route route = check_copy(dst, src, count, kind);
    enqueue_copy(dst, src, count, route.from, stream);
    bool within_host = !on_device(route.from) && !on_device(route.to);
    bool returns_late = within_host || route.to == MemoryKind::kPageable;
    if (returns_late && !capture_of(stream)) wait_for(stream);
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return api("cudaMemcpy", [&] {
    if (count == 0) return;
    Route route = check_copy(dst, src, count, kind);
    enqueue_copy(dst, src, count, route.from, nullptr);
    bool returns_early =
        on_device(route.to) && (on_device(route.from) || route.from == MemoryKind::kPageable);
    if (!returns_early) wait_for(nullptr);
  });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return api("cudaMemsetAsync", [&] { fill(devPtr, value, count, stream); });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return api("cudaMemset", [&] { fill(devPtr, value, count, nullptr); });
}
