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

/// Waits until all earlier kernels of the stream are complete, then allows the next kernel to be
/// placed on SMs. Every kernel that launch_early() launches must call this before any access to
/// memory. Does nothing unless kHopper.
__device__ inline void await_earlier_kernels() {
  if constexpr (kHopper) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
  }
}

/// Enqueues a kernel that begins with await_earlier_kernels(), in clusters of `cluster` blocks (1:
/// no clusters). If kHopper, and outside of stream capture, the kernel may be placed on SMs before
/// the previous kernel ends, which saves about a microsecond.
template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, int cluster,
                  cudaStream_t stream, const char* where, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = attributes;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  HG_CHECK(cudaStreamIsCapturing(stream, &capture), where);
  // In a graph, the attribute would create a programmatic edge. CUDA does not allow such an edge
  // where streams join.
  if (kHopper && capture == cudaStreamCaptureStatusNone) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& together = attributes[config.numAttrs++];
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
  HG_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), where);
}

}  // namespace hirgen

#endif
