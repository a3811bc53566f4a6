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

/// Waits until all earlier kernels of the stream are complete. Every kernel that launch_early()
/// launches must call this before any access to memory. Does nothing unless kHopper.
__device__ inline void await_earlier_kernels() {
  if constexpr (kHopper) asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Allows the next kernel of the stream to be placed on SMs now, and not only when this one ends.
/// A kernel that waits for peers must not call this. Meanwhile the next kernel would occupy SMs,
/// and other streams may need these to answer the peers. Does nothing unless kHopper.
__device__ inline void release_next_kernel() {
  if constexpr (kHopper) asm volatile("griddepcontrol.launch_dependents;");
}

/// Whether the next kernel on a stream may be placed on SMs before earlier work ends. In a capture,
/// the graph would have a programmatic edge, which CUDA allows only between two kernels, and not
/// where streams join. So the next kernel must follow one kernel only.
inline bool may_start_early(cudaStream_t stream, const char* where) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
#if CUDART_VERSION >= 13000
  const cudaGraphNode_t* earlier = nullptr;
  size_t count = 0;
  HG_CHECK(cudaStreamGetCaptureInfo(stream, &capture, nullptr, nullptr, &earlier, nullptr, &count),
           where);
  if (capture == cudaStreamCaptureStatusActive && count == 1) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    HG_CHECK(cudaGraphNodeGetType(earlier[0], &type), where);
    return type == cudaGraphNodeTypeKernel;
  }
#else
  HG_CHECK(cudaStreamIsCapturing(stream, &capture), where);
#endif
  return capture == cudaStreamCaptureStatusNone;
}

/// Enqueues a kernel that begins with await_earlier_kernels(), in clusters of `cluster` blocks (1:
/// no clusters). If kHopper and may_start_early(), the kernel may be placed on SMs before the
/// previous kernel ends, which saves up to a microsecond. If it waits for peers, it must leave some
/// SMs to kernels of other streams that write flags. The caller traces the launch.
template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, int cluster,
                  cudaStream_t stream, const char* where, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = attributes;
  if (kHopper && may_start_early(stream, where)) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& together = attributes[config.numAttrs++];
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  HG_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), where);
}

}  // namespace hirgen

#endif
