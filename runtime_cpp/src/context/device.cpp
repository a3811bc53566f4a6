#include "context/device.hpp"

#include <cstdlib>
#include <string_view>

#include "base/open_files.hpp"
#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// Throws if `status` is an error: Error(kEnvironment), not kDevice, because a device that cannot be
// opened is a fault of the machine.
void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string files = too_many_files();
  throw Error(Code::kEnvironment,
              std::string(what) + ": " + (files.empty() ? cudaGetErrorString(status) : files));
}

}  // namespace

bool may_share_gpu() {
  const char* text = std::getenv("HIRGEN_SHARE_GPU");
  return text != nullptr && std::string_view(text) == "1";
}

int choose_device(const ContextOptions& options) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::string why = too_many_files();
    if (why.empty()) why = status == cudaSuccess ? "none is visible" : cudaGetErrorString(status);
    throw Error(Code::kEnvironment,
                "no GPU: " + why +
                    "; check nvidia-smi and CUDA_VISIBLE_DEVICES, or build with the cpu preset");
  }
  int device = options.device;
  // If a launcher makes only one GPU visible to each rank, CUDA numbers it 0 on every rank.
  if (device < 0) device = count == 1 ? 0 : options.local_rank;
  if (may_share_gpu() && device >= 0) device %= count;
  if (device < 0) {
    throw Error(Code::kEnvironment,
                format("%d GPUs are visible and the launcher does not say which is this rank's: "
                       "set HIRGEN_RANK, HIRGEN_WORLD and HIRGEN_LOCAL_RANK, or make one GPU "
                       "visible (CUDA_VISIBLE_DEVICES)",
                       count));
  }
  if (device >= count) {
    throw Error(Code::kEnvironment,
                format("GPU %d is wanted (local rank %d) and %d %s visible", device,
                       options.local_rank, count, count == 1 ? "is" : "are"));
  }
  return device;
}

std::string open_device(int device) {
  require(cudaSetDevice(device), "cannot use the GPU");
  char bus_id[32] = "";
  require(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), device), "cannot identify the GPU");
  return bus_id;
}

std::string device_name(int device) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, device), "cannot describe the GPU");
  return properties.name;
}

size_t allocation_bytes(size_t bytes) {
  constexpr size_t kSmall = 1 << 20;
  constexpr size_t kPage = 64 << 10;
  return bytes < kSmall ? bytes : (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace hirgen
