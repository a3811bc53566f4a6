// Compares a result with its reference.
#include "check/bounds.hpp"
#include "hirgen/fill.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/placement.hpp"

namespace hirgen {
namespace {

constexpr const char* kCheck = "check outputs";

/// The counts of a check, accumulated on the device; all zero at first.
struct Tally {
  unsigned long long count;
  unsigned long long inverse_first;    ///< ~ of the smallest local index of a wrong element
  unsigned long long special, unsure;  ///< Wrong::not_finite and Wrong::unsure
};

/// Adds one to a count. A loop of the CPU device runs in one thread and needs no atomics.
HG_HOST_DEVICE inline void add_one(unsigned long long* count) {
#ifdef __CUDA_ARCH__
  atomicAdd(count, 1ULL);
#else
  ++*count;
#endif
}

/// Counts a wrong element with local index i.
HG_HOST_DEVICE inline void report(Tally* tally, unsigned long long i) {
  add_one(&tally->count);
#ifdef __CUDA_ARCH__
  atomicMax(&tally->inverse_first, ~i);
#else
  if (~i > tally->inverse_first) tally->inverse_first = ~i;
#endif
}

struct CompareKernel {
  const void* local;
  const float *whole, *bounds;
  DType type;
  Placement placement;
  Tally* tally;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t at = placement.global(i);
    const double got = load(local, type, i), expected = whole[at];
    const double bound = bounds == nullptr ? 0 : bounds[at];
    if (!(fabs(expected) < INFINITY)) add_one(&tally->special);
    if (bound == INFINITY) {
      add_one(&tally->unsure);
    } else if (reference::apart(got, expected) > bound) {
      report(tally, static_cast<unsigned long long>(i));
    }
  }
};

/// A tally in device memory, freed by the destructor. The constructor clears it on `stream`, not on
/// the default stream, because a non-blocking stream does not wait for the default stream.
class DeviceTally {
 public:
  explicit DeviceTally(cudaStream_t stream) {
    HG_CHECK(cudaMalloc(&pointer_, sizeof(Tally)), kCheck);
    HG_CHECK(cudaMemsetAsync(pointer_, 0, sizeof(Tally), stream), kCheck);
  }
  ~DeviceTally() { static_cast<void>(cudaFree(pointer_)); }
  DeviceTally(const DeviceTally&) = delete;
  DeviceTally& operator=(const DeviceTally&) = delete;

  Tally* get() const { return static_cast<Tally*>(pointer_); }

 private:
  void* pointer_ = nullptr;
};

/// Copies `bytes` bytes to the host after all work on `stream`, and waits for the copy.
void fetch(void* host, const void* device, size_t bytes, cudaStream_t stream) {
  HG_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), kCheck);
  HG_CHECK(cudaStreamSynchronize(stream), kCheck);
}

/// Returns one element of a device buffer, as fp32.
float fetch_element(const void* device, DType type, int64_t index, cudaStream_t stream) {
  alignas(8) unsigned char element[8];
  const auto bytes = static_cast<int64_t>(size_of(type));
  fetch(element, static_cast<const unsigned char*>(device) + index * bytes, size_of(type), stream);
  return load(element, type, 0);
}

}  // namespace

Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole,
                  const float* bounds, cudaStream_t stream) {
  const Placement placement = placement_of(desc);
  const DeviceTally tally(stream);
  parallel_for(desc.local_elements(), stream, kCheck,
               CompareKernel{local, whole, bounds, desc.dtype, placement, tally.get()});
  Tally found{};
  fetch(&found, tally.get(), sizeof(found), stream);
  Wrong wrong;
  wrong.count = static_cast<int64_t>(found.count);
  wrong.not_finite = static_cast<int64_t>(found.special);
  wrong.unsure = static_cast<int64_t>(found.unsure);
  if (wrong.count == 0) return wrong;
  const auto first = static_cast<int64_t>(~found.inverse_first);
  wrong.first_index = placement.global(first);
  wrong.got = fetch_element(local, desc.dtype, first, stream);
  wrong.expected = fetch_element(whole, DType::kFp32, wrong.first_index, stream);
  return wrong;
}

}  // namespace hirgen
