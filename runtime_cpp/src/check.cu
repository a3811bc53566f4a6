// The comparison of a result with its reference.
#include <limits>

#include "hirgen/fill.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/placement.hpp"

namespace hirgen {
namespace {

constexpr const char* kCheck = "check outputs";

/// What the check accumulates on the device.
struct Tally {
  unsigned long long count;
  unsigned long long first;  ///< smallest local index
};

/// Adds one to the count and lowers the first index. A loop of the CPU device runs in
/// one thread and needs no atomics.
HG_HOST_DEVICE inline void report(Tally* tally, unsigned long long i) {
#ifdef __CUDA_ARCH__
  atomicAdd(&tally->count, 1ULL);
  atomicMin(&tally->first, i);
#else
  ++tally->count;
  if (i < tally->first) tally->first = i;
#endif
}

struct CompareKernel {
  const void* local;
  const float* whole;
  DType type;
  double rel_tol, abs_tol;
  Placement placement;
  Tally* tally;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const float got = load(local, type, i);
    const float expected = whole[placement.global(i)];
    if (got == expected) return;  // also equal infinities, whose difference is NaN
    const double distance = fabs(static_cast<double>(got) - static_cast<double>(expected));
    const double bound = abs_tol + rel_tol * fabs(static_cast<double>(expected));
    // A NaN on either side makes the comparison false; an infinite bound accepts nothing.
    if (!(distance <= bound) || !(bound < INFINITY)) {
      report(tally, static_cast<unsigned long long>(i));
    }
  }
};

/// A value of type T in device memory, gone with its scope.
template <typename T>
class DeviceValue {
 public:
  explicit DeviceValue(const T& value) {
    HG_CHECK(cudaMalloc(&pointer_, sizeof(T)), kCheck);
    write(value);
  }
  ~DeviceValue() { static_cast<void>(cudaFree(pointer_)); }
  DeviceValue(const DeviceValue&) = delete;
  DeviceValue& operator=(const DeviceValue&) = delete;

  T* get() const { return static_cast<T*>(pointer_); }

 private:
  void write(const T& value) {
    HG_CHECK(cudaMemcpy(pointer_, &value, sizeof(T), cudaMemcpyHostToDevice), kCheck);
  }
  void* pointer_ = nullptr;
};

/// One value of type T that stands in device memory, after all that is on `stream`.
template <typename T>
T fetch(const T* device, cudaStream_t stream) {
  T value{};
  HG_CHECK(cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, stream), kCheck);
  HG_CHECK(cudaStreamSynchronize(stream), kCheck);
  return value;
}

/// One element of a device buffer, as fp32.
float fetch_element(const void* device, DType type, int64_t index, cudaStream_t stream) {
  alignas(4) unsigned char element[4];
  const auto* source = static_cast<const unsigned char*>(device) + index * size_of(type);
  HG_CHECK(cudaMemcpyAsync(element, source, size_of(type), cudaMemcpyDeviceToHost, stream), kCheck);
  HG_CHECK(cudaStreamSynchronize(stream), kCheck);
  return load(element, type, 0);
}

}  // namespace

Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole, double rel_tol,
                  double abs_tol, cudaStream_t stream) {
  const Placement placement = place(desc);
  const DeviceValue<Tally> tally(Tally{0, std::numeric_limits<unsigned long long>::max()});
  parallel_for(desc.local_elements(), stream, kCheck,
               CompareKernel{local, whole, desc.dtype, rel_tol, abs_tol, placement, tally.get()});
  const Tally found = fetch(tally.get(), stream);
  Wrong wrong;
  wrong.count = static_cast<int64_t>(found.count);
  if (wrong.count == 0) return wrong;
  const auto first = static_cast<int64_t>(found.first);
  wrong.first_index = placement.global(first);
  wrong.got = fetch_element(local, desc.dtype, first, stream);
  wrong.expected = fetch_element(whole, DType::kFp32, wrong.first_index, stream);
  return wrong;
}

}  // namespace hirgen
