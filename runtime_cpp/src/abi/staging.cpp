#include "abi/staging.hpp"

#include <cstdio>
#include <utility>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr const char* kStage = "copies of tensors for other ranks";

bool can_export(void* memory) {
  cudaIpcMemHandle_t handle{};
  if (cudaIpcGetMemHandle(&handle, memory) == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // clears the error, which a later call would report
  return false;
}

}  // namespace

void* Staging::place_of(Context& context, const TensorDesc& desc, void* given) {
  const auto [entry, is_new] = places_.try_emplace({&desc, given}, given);
  if (!is_new || can_export(given)) return entry->second;
  entry->second = context.allocate(desc.local_bytes(), "the copy of " + desc.name);
  context.reached(entry->second);
  std::fprintf(
      stderr,
      "hirgen: %s is copied in each call (rank %d): CUDA IPC cannot share its memory, only "
      "memory of cudaMalloc\n",
      desc.name.c_str(), context.rank());
  return entry->second;
}

std::vector<void*> Staging::places(Context& context, const std::vector<TensorDesc>& descs,
                                   void* const* tensors) {
  copies_.clear();
  std::vector<void*> places(tensors, tensors + descs.size());
  for (size_t i = 0; i < descs.size(); ++i) {
    if (!descs[i].shared || descs[i].local_bytes() == 0) continue;
    places[i] = place_of(context, descs[i], tensors[i]);
    if (places[i] != tensors[i]) copies_.push_back({&descs[i], tensors[i], places[i]});
  }
  return places;
}

void Staging::copy_in(cudaStream_t stream) const {
  for (const Copy& copy : copies_) {
    if (copy.desc->output) continue;
    HG_CHECK(cudaMemcpyAsync(copy.place, copy.given, copy.desc->local_bytes(),
                             cudaMemcpyDeviceToDevice, stream),
             kStage);
  }
}

void Staging::copy_out(cudaStream_t stream) const {
  for (const Copy& copy : copies_) {
    if (!copy.desc->output) continue;
    HG_CHECK(cudaMemcpyAsync(copy.given, copy.place, copy.desc->local_bytes(),
                             cudaMemcpyDeviceToDevice, stream),
             kStage);
  }
}

}  // namespace hirgen
