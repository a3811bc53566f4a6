#include "core/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"

namespace hirgen_cpu {
namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;
constexpr int kMultiprocessors = 1;
constexpr int kMostDevices = 255;  // the PCI bus id has 8 bits
constexpr int kDevices = 64;       // more than the ranks of most runs on a CPU
thread_local int device_of_thread = 0;

void check_device(int device) {
  if (device_count() == 0) throw Failure{cudaErrorNoDevice, "HIRGEN_CPU_DEVICES is 0"};
  if (device < 0 || device >= device_count()) {
    throw Failure{cudaErrorInvalidDevice,
                  format("device %d of %d (HIRGEN_CPU_DEVICES)", device, device_count())};
  }
}

size_t total_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int device_count() {
  const char* text = getenv("HIRGEN_CPU_DEVICES");
  if (text == nullptr || *text == '\0') return kDevices;
  char* end = nullptr;
  long count = strtol(text, &end, 10);
  if (*end != '\0' || count < 0 || count > kMostDevices) {
    throw Failure{cudaErrorInitializationError,
                  format("HIRGEN_CPU_DEVICES=%s is not a number from 0 to %d", text, kMostDevices)};
  }
  return static_cast<int>(count);
}

int current_device() { return device_of_thread; }

int clamp_priority(int priority) { return std::clamp(priority, kGreatestPriority, kLeastPriority); }

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

cudaError_t cudaGetDeviceCount(int* count) {
  return api("cudaGetDeviceCount", [&] {
    require(count != nullptr, "null result");
    *count = device_count();
    if (*count == 0) throw Failure{cudaErrorNoDevice, "HIRGEN_CPU_DEVICES is 0"};
  });
}

cudaError_t cudaSetDevice(int device) {
  return api("cudaSetDevice", [&] {
    check_device(device);
    device_of_thread = device;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api("cudaGetDevice", [&] {
    require(device != nullptr, "null result");
    *device = device_of_thread;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return api("cudaGetDeviceProperties", [&] {
    require(prop != nullptr, "null result");
    check_device(device);
    *prop = cudaDeviceProp{};
    snprintf(prop->name, sizeof prop->name, "hirgen CPU device");
    memcpy(prop->uuid.bytes, "hirgen-cpu-dev", 14);
    prop->uuid.bytes[15] = static_cast<char>(device);
    prop->totalGlobalMem = total_memory();
    prop->major = 9;
    prop->multiProcessorCount = kMultiprocessors;
    prop->asyncEngineCount = 1;
    prop->pciBusID = device + 1;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return api("cudaDeviceGetPCIBusId", [&] {
    require(pciBusId != nullptr && len >= 13, "the text needs 13 bytes");
    check_device(device);
    snprintf(pciBusId, static_cast<size_t>(len), "0000:%02x:00.0", device + 1);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return api("cudaDeviceGetAttribute", [&] {
    require(value != nullptr, "null result");
    check_device(device);
    switch (attr) {
      case cudaDevAttrMultiProcessorCount:
        *value = kMultiprocessors;
        return;
      case cudaDevAttrL2CacheSize:
        *value = 1 << 20;
        return;
      case cudaDevAttrConcurrentKernels:
      case cudaDevAttrAsyncEngineCount:
        *value = 1;
        return;
      case cudaDevAttrPciBusId:
        *value = device + 1;
        return;
      case cudaDevAttrPciDeviceId:
      case cudaDevAttrPciDomainId:
      case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        return;
      case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        return;
    }
    throw Failure{cudaErrorInvalidValue, "unknown attribute"};
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return api("cudaDeviceCanAccessPeer", [&] {
    require(canAccessPeer != nullptr, "null result");
    check_device(device);
    check_device(peerDevice);
    *canAccessPeer = device != peerDevice && getenv("HIRGEN_CPU_NO_PEER_ACCESS") == nullptr ? 1 : 0;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return api("cudaDeviceGetStreamPriorityRange", [&] {
    if (leastPriority != nullptr) *leastPriority = kLeastPriority;
    if (greatestPriority != nullptr) *greatestPriority = kGreatestPriority;
  });
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  return api("cudaRuntimeGetVersion", [&] {
    require(runtimeVersion != nullptr, "null result");
    *runtimeVersion = CUDART_VERSION;
  });
}

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  return api("cudaDriverGetVersion", [&] {
    require(driverVersion != nullptr, "null result");
    *driverVersion = CUDART_VERSION;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api("cudaMemGetInfo", [&] {
    require(free != nullptr && total != nullptr, "null result");
    *total = total_memory();
    *free =
        static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  });
}
