// The tensors of DeviceReference, and set(). All other operations are in the other files
// reference_*.cpp.
#include "hirgen/reference_device.hpp"

#include <cstring>

#include "check/reference_shapes.hpp"
#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"

namespace hirgen {
namespace {

using reference::elements_of;
using reference::require;

}  // namespace

const DeviceReference::Tensor& DeviceReference::found(const char* name) const {
  const auto at = tensors_.find(name);
  require(at != tensors_.end(), name, "it is read before it is defined");
  return at->second;
}

std::shared_ptr<float> DeviceReference::allocate(int64_t elements, const char* name) {
  const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status != cudaSuccess) {
    throw Error(Code::kEnvironment, std::string("the check needs ") + std::to_string(bytes >> 20) +
                                        " MiB of device memory for the reference of " + name +
                                        ": " + cudaGetErrorString(status) +
                                        "; run with --no-check or a smaller problem");
  }
  const cudaStream_t stream = stream_;
  return {static_cast<float*>(memory), [stream](float* pointer) {
            static_cast<void>(cudaStreamSynchronize(stream));  // kernels may still use the memory
            static_cast<void>(cudaFree(pointer));
          }};
}

float* DeviceReference::define(const char* name, const Shape& shape, DType dtype) {
  const int64_t elements = elements_of(shape);
  Tensor& tensor = tensors_[name];
  const bool reusable = tensor.data != nullptr && tensor.data.use_count() == 1 &&
                        elements_of(tensor.shape) == elements;
  if (!reusable) {
    tensor.data.reset();  // before the allocation: memory may not suffice for both
    tensor.data = allocate(elements, name);
  }
  const std::shared_ptr<float> data = tensor.data;
  tensor = Tensor{shape, data, dtype};
  return data.get();
}

void DeviceReference::generate_integers(const TensorDesc& input, int index, uint64_t seed) {
  fill_integers_whole(define(input.name.c_str(), input.shape(), input.dtype), input, index, seed,
                      stream_);
}

void DeviceReference::generate_normal(const TensorDesc& input, int index, uint64_t seed) {
  fill_normal_whole(define(input.name.c_str(), input.shape(), input.dtype), input, index, seed,
                    stream_);
}

void DeviceReference::upload(const TensorDesc& input, const void* whole) {
  const int64_t elements = input.elements();
  float* data = define(input.name.c_str(), input.shape(), input.dtype);
  uploaded_.insert(input.name);
  // The staging memory holds the elements in their type, and is freed at the end of this function.
  const auto bytes = elements * static_cast<int64_t>(size_of(input.dtype));
  const std::shared_ptr<float> staging = allocate((bytes + 3) / 4, input.name.c_str());
  HG_CHECK(
      cudaMemcpyAsync(staging.get(), whole, static_cast<size_t>(elements) * size_of(input.dtype),
                      cudaMemcpyHostToDevice, stream_),
      reference::kEvaluation);
  widen_elements(data, staging.get(), input.dtype, elements, stream_);
  HG_CHECK(cudaStreamSynchronize(stream_), reference::kEvaluation);
  if (input.dtype == DType::kInt64 && elements == 1) {
    int64_t seed = 0;
    std::memcpy(&seed, whole, sizeof(seed));
    tensors_[input.name].seed = seed;
  }
}

void DeviceReference::set(const char* out, const char* in) {
  if (uploaded_.contains(out)) return;
  const Tensor source = found(in);
  tensors_[out] = source;
}

}  // namespace hirgen
