// Launches of kernels that may be placed on SMs before the previous kernel ends (programmatic
// dependent launch), and properties of the GPU. Include this from .cu files only.
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime.h>

#include <utility>

#include "hirgen/error.hpp"

namespace hirgen {

/// Whether this file is compiled only for Hopper and later GPUs (compute capability 9.0 or higher).
/// If so, kernels may use clusters, start before the previous kernel ends, and prefetch with bulk
/// copies.
constexpr bool kHopper = [] {
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    if (architecture < 900) return false;
  }
  return true;
}();

/// The number of SMs of the current device.
inline int multiprocessors(const char* where) {
  int device = 0, sms = 0;
  HG_CHECK(cudaGetDevice(&device), where);
  HG_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), where);
  return sms;
}

/// Waits until all earlier kernels of the stream are complete. Every kernel that may start early
/// must call this before any access to memory. Does nothing unless kHopper.
__device__ inline void await_earlier_kernels() {
  if constexpr (kHopper) asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Allows the next kernel of the stream to be placed on SMs now, and not only when this one ends.
/// A kernel that waits for peers must not call this. Meanwhile the next kernel would occupy SMs,
/// and other streams may need these to answer the peers. Does nothing unless kHopper.
__device__ inline void release_next_kernel() {
  if constexpr (kHopper) asm volatile("griddepcontrol.launch_dependents;");
}

/// The end of a stream that is being captured.
struct CapturedEnd {
  unsigned long long capture = 0;  ///< the number of the capture; 0: the stream captures nothing
  /// The node that the next operation follows; null if it follows several or none.
  cudaGraphNode_t node = nullptr;

  bool operator==(const CapturedEnd&) const = default;
};

inline CapturedEnd captured_end(cudaStream_t stream, const char* where) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData* edges = nullptr;
  HG_CHECK(cudaStreamGetCaptureInfo(stream, &status, &capture, nullptr, &nodes, &edges, &count),
           where);
#else
  HG_CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &capture, nullptr, &nodes, &count), where);
#endif
  if (status == cudaStreamCaptureStatusNone) return {};
  return {capture, count == 1 ? nodes[0] : nullptr};
}

/// The end of the captured stream on which this thread last called launch_early().
inline CapturedEnd& released_end() {
  thread_local CapturedEnd end;
  return end;
}

/// Enqueues a kernel in clusters of `cluster` blocks (1: no clusters). If `early` and kHopper, it
/// may be placed on SMs before the previous kernel ends, which saves up to a microsecond. It must
/// then call await_earlier_kernels(). The caller traces the launch.
template <typename... Parameters, typename... Arguments>
void launch_kernel(bool early, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                   int cluster, cudaStream_t stream, const char* where, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = attributes;
  if (kHopper && early) {
    cudaLaunchAttribute& serial = attributes[config.numAttrs++];
    serial.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    serial.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& together = attributes[config.numAttrs++];
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  HG_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), where);
}

/// Enqueues a kernel that may start early. It begins with await_earlier_kernels() and
/// release_next_kernel(), and waits for no peer. In a capture, the graph then has a programmatic
/// edge. CUDA does not allow such an edge where streams join, so a captured kernel starts early
/// only after one that this function launched just before.
template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, int cluster,
                  cudaStream_t stream, const char* where, Arguments&&... arguments) {
  const CapturedEnd end = captured_end(stream, where);
  const bool follows = end.node != nullptr && end == released_end();
  launch_kernel(end.capture == 0 || follows, kernel, blocks, threads, cluster, stream, where,
                std::forward<Arguments>(arguments)...);
  if (end.capture != 0) released_end() = captured_end(stream, where);
}

}  // namespace hirgen

#endif
