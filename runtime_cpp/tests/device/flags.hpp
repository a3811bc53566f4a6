// Common parts of the tests of the runtime's flags and transfers.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "hirgen/flags.hpp"
#include "test.hpp"

namespace device_test {

/// The driver's stream memory operations on 32-bit words.
inline const hirgen::StreamMemory& driver() {
  static const hirgen::StreamMemory memory = [] {
    hirgen::StreamMemory found;
    const auto ask = [](const char* name, auto* function) {
      OK(cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(function), 12000,
                                          cudaEnableDefault, nullptr));
    };
    ask("cuStreamWaitValue32", &found.cuStreamWaitValue32.function);
    ask("cuStreamWriteValue32", &found.cuStreamWriteValue32.function);
    ask("cuStreamBatchMemOp", &found.cuStreamBatchMemOp);
    return found;
  }();
  return memory;
}

template <class T>
CUdeviceptr address(T* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

inline bool is_blocked(cudaStream_t stream) {
  for (int i = 0; i < 20; ++i) {
    if (cudaStreamQuery(stream) != cudaErrorNotReady) return false;
  }
  static_cast<void>(cudaGetLastError());
  return true;
}

}  // namespace device_test
