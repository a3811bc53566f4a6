// Tests of queries of devices, versions and errors.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

/// The last error is per thread. Reading clears it; peeking and successful calls do not.
void last_error() {
  OK(cudaGetLastError());
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaSetDevice(-1));
  int device = -1;
  OK(cudaGetDevice(&device));
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaPeekAtLastError());
  std::thread([] { OK(cudaGetLastError()); }).join();
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaGetLastError());
  OK(cudaPeekAtLastError());
  OK(cudaGetLastError());
}

void names() {
  EXPECT(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
  EXPECT(strncmp(cudaGetErrorString(cudaSuccess), "no error", 8) == 0);
  EXPECT(strcmp(cublasLtGetStatusName(CUBLAS_STATUS_INVALID_VALUE),
                "CUBLAS_STATUS_INVALID_VALUE") == 0);
  EXPECT(strlen(cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)) > 0);
  EXPECT(strncmp(ncclGetErrorString(ncclInvalidUsage), "invalid usage", 13) == 0);
}

void versions() {
  int runtime = 0, driver = 0, nccl = 0;
  OK(cudaRuntimeGetVersion(&runtime));
  OK(cudaDriverGetVersion(&driver));
  EXPECT(runtime / 1000 == CUDART_VERSION / 1000 && driver / 1000 >= runtime / 1000);
  OK(ncclGetVersion(&nccl));
  EXPECT(nccl / 10000 == NCCL_VERSION_CODE / 10000);
  EXPECT(cublasLtGetVersion() >= 120000);
}

/// A new thread is on device 0, independent of other threads.
void device_of_a_thread() {
  int count = 0, device = -1;
  OK(cudaGetDeviceCount(&count));
  OK(cudaSetDevice(count - 1));
  std::thread([] {
    int of_thread = -1;
    OK(cudaGetDevice(&of_thread));
    EXPECT(of_thread == 0);
  }).join();
  OK(cudaGetDevice(&device));
  EXPECT(device == count - 1);
}

/// No device is its own peer, and peer access between two devices is symmetric.
void peer_access() {
  int count = 0, there = -1, back = -1;
  OK(cudaGetDeviceCount(&count));
  OK(cudaDeviceCanAccessPeer(&there, 0, 0));
  EXPECT(there == 0);
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&there, 0, count));
  static_cast<void>(cudaGetLastError());
  if (count < 2) skip("needs 2 devices");
  OK(cudaDeviceCanAccessPeer(&there, 0, 1));
  OK(cudaDeviceCanAccessPeer(&back, 1, 0));
  EXPECT((there == 0 || there == 1) && there == back);
}

void memory_left() {
  size_t free_bytes = 0, total = 0;
  OK(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(free_bytes > 0 && free_bytes <= total);
  cudaDeviceProp properties{};
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(total <= properties.totalGlobalMem);
}

void attributes() {
  cudaDeviceProp properties{};
  OK(cudaGetDeviceProperties(&properties, 0));
  const auto ask = [](cudaDeviceAttr attribute) {
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
  };
  EXPECT(ask(cudaDevAttrComputeCapabilityMajor) == properties.major);
  EXPECT(ask(cudaDevAttrComputeCapabilityMinor) == properties.minor);
  EXPECT(ask(cudaDevAttrPciBusId) == properties.pciBusID);
  EXPECT(ask(cudaDevAttrPciDeviceId) == properties.pciDeviceID);
  EXPECT(ask(cudaDevAttrPciDomainId) == properties.pciDomainID);
  EXPECT(ask(cudaDevAttrAsyncEngineCount) == properties.asyncEngineCount);
  EXPECT(ask(cudaDevAttrConcurrentKernels) == 1);
  EXPECT(ask(cudaDevAttrL2CacheSize) > 0);
  int value = 0;
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, -1));
  static_cast<void>(cudaGetLastError());
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"last_error", last_error},
                       {"names", names},
                       {"versions", versions},
                       {"device_of_a_thread", device_of_a_thread},
                       {"peer_access", peer_access},
                       {"memory_left", memory_left},
                       {"attributes", attributes},
                   });
}
