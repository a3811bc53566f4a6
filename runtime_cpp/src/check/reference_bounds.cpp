// The bounds of DeviceReference; see check/bounds.hpp.
#include <algorithm>
#include <cmath>

#include "check/bounds.hpp"
#include "check/reference_shapes.hpp"
#include "hirgen/error.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

constexpr const char* kOfReference = "bound the reference";
constexpr const char* kScratch = "the bounds";
constexpr int64_t kLeastElements = 32;  ///< tighten() needs at least this many independent errors
/// The smallest factor of tighten(), because fp32 rounds in any case.
constexpr double kLeastShare = 0x1p-12;

}  // namespace

namespace reference {

Largest::Largest(cudaStream_t stream) : stream_(stream) {
  void* memory = nullptr;
  HG_CHECK(cudaMalloc(&memory, sizeof(float)), kOfReference);
  number_ = static_cast<float*>(memory);
  HG_CHECK(cudaMemsetAsync(number_, 0, sizeof(float), stream), kOfReference);
}

Largest::~Largest() {
  static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(cudaFree(number_));
}

float Largest::fetch() const {
  float number = 0;
  HG_CHECK(cudaMemcpyAsync(&number, number_, sizeof(number), cudaMemcpyDeviceToHost, stream_),
           kOfReference);
  HG_CHECK(cudaStreamSynchronize(stream_), kOfReference);
  return number;
}

}  // namespace reference

reference::Noisy DeviceReference::Tensor::noisy() const {
  return {data.get(), bound.get(), leap.get(), summed ? log_bound.get() : nullptr};
}

reference::Bounds DeviceReference::Tensor::bounds() const { return {bound.get(), leap.get()}; }

std::shared_ptr<float> DeviceReference::zeros(int64_t elements) {
  std::shared_ptr<float> memory = allocate(elements, kScratch);
  HG_CHECK(cudaMemsetAsync(memory.get(), 0, static_cast<size_t>(elements) * sizeof(float), stream_),
           kOfReference);
  return memory;
}

DeviceReference::Tensor& DeviceReference::bounded(const char* out,
                                                  const std::vector<Tensor>& operands, DType dtype,
                                                  bool repeats) {
  Tensor& result = tensors_[out];
  const int64_t n = reference::elements_of(result.shape);
  result.bound = zeros(n);
  result.other = allocate(n, out);
  result.rounds = size_of(dtype) < 4;
  for (const Tensor& operand : operands) {
    result.rounds = result.rounds || operand.rounds;
    result.jumps = result.jumps || operand.jumps;
    result.samples += operand.samples;
  }
  result.samples = repeats ? std::min(result.samples, n) : n;
  return result;
}

void DeviceReference::move(const char* out, const std::vector<Tensor>& in, const Shape& shape,
                           const std::function<void(float*, const Arrays&)>& copy) {
  Arrays data, others, bounds, leaps;
  for (const Tensor& operand : in) {
    data.push_back(operand.data.get());
    others.push_back(operand.again());
    bounds.push_back(operand.bound.get());
    leaps.push_back(operand.leap.get());
  }
  copy(define(out, shape, in[0].dtype), data);
  const auto empty = [](const Arrays& list) {
    return std::all_of(list.begin(), list.end(), [](const float* b) { return b == nullptr; });
  };
  if (empty(bounds)) return;
  int64_t longest = 0;
  for (const Tensor& operand : in)
    longest = std::max(longest, reference::elements_of(operand.shape));
  Tensor& result = bounded(out, in, DType::kFp32, /*repeats=*/true);
  const std::shared_ptr<float> none = zeros(longest);  // the bounds of operands that have none
  const bool leap = !empty(leaps);
  for (Arrays* list : {&bounds, &leaps}) {
    for (const float*& bound : *list) bound = bound == nullptr ? none.get() : bound;
  }
  copy(result.bound.get(), bounds);
  if (leap) {
    result.leap = zeros(reference::elements_of(shape));
    copy(result.leap.get(), leaps);
  }
  copy(result.other.get(), others);
  if (in.size() > 1 || !in[0].log_value) return;
  result.log_value = allocate(reference::elements_of(shape), kScratch);
  result.log_bound = allocate(reference::elements_of(shape), kScratch);
  copy(result.log_value.get(), {in[0].log_value.get()});
  copy(result.log_bound.get(), {in[0].log_bound.get()});
  result.summed = in[0].summed;
}

double DeviceReference::common(const Tensor& operand) const {
  if (!operand.bound) return 0;
  const reference::Largest share(stream_);
  reference::largest_share(share.get(), {operand.data.get(), operand.bound.get()},
                           reference::elements_of(operand.shape), stream_);
  const double largest = share.fetch();
  return largest > 1 ? 1 / largest : 0;
}

bool DeviceReference::unsure(const Tensor& operand) const {
  if (!operand.bound) return false;
  const reference::Largest found(stream_);
  reference::any_infinite(found.get(), operand.bound.get(), reference::elements_of(operand.shape),
                          stream_);
  return found.fetch() > 0;
}

void DeviceReference::bound_attention(
    const std::vector<const char*>& out, const std::vector<Tensor>& operands,
    const std::vector<double>& roundings, DType dtype,
    const std::function<void(const Arrays&, const std::vector<float*>&)>& attend) {
  constexpr int kTimes = 3;
  if (ranks_ == 0) return;
  std::vector<float*> others, shaken;
  std::vector<std::shared_ptr<float>> memory;
  for (const char* name : out) {
    others.push_back(bounded(name, operands, dtype).other.get());
    memory.push_back(allocate(reference::elements_of(tensors_[name].shape), kScratch));
    shaken.push_back(memory.back().get());
  }
  Arrays again;  // operands, moved by epsilon / 4: a program also rounds intermediates
  for (size_t i = 0; i < operands.size(); ++i) {
    const int64_t n = reference::elements_of(operands[i].shape);
    memory.push_back(allocate(n, kScratch));
    again.push_back(memory.back().get());
    reference::shake(memory.back().get(), {operands[i].again(), nullptr}, roundings[i] / 4,
                     ++seeds_, n, stream_);
  }
  attend(again, others);
  const std::shared_ptr<float> sums = allocate(static_cast<int64_t>(2 * out.size()), kScratch);
  auto* const squares = reinterpret_cast<double*>(sums.get());
  HG_CHECK(cudaMemsetAsync(squares, 0, out.size() * sizeof(double), stream_), kOfReference);
  bool any_number = false;
  for (const Tensor& operand : operands) any_number = any_number || unsure(operand);
  for (int time = 0; time < kTimes; ++time) {
    Arrays moved;
    std::vector<std::shared_ptr<float>> copies;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t n = reference::elements_of(operands[i].shape);
      copies.push_back(allocate(n, kScratch));
      moved.push_back(copies.back().get());
      reference::shake(copies.back().get(), {operands[i].data.get(), operands[i].bound.get()},
                       reference::kSpread * roundings[i], ++seeds_, n, stream_);
    }
    attend(moved, shaken);
    for (size_t r = 0; r < out.size(); ++r) {
      const Tensor& result = tensors_[out[r]];
      reference::widen_bound(result.bound.get(), shaken[r], result.data.get(), any_number,
                             reference::elements_of(result.shape), squares + r, stream_);
    }
  }
  std::vector<double> found(out.size());
  HG_CHECK(cudaMemcpyAsync(found.data(), squares, found.size() * sizeof(double),
                           cudaMemcpyDeviceToHost, stream_),
           kOfReference);
  HG_CHECK(cudaStreamSynchronize(stream_), kOfReference);
  for (size_t r = 0; r < out.size(); ++r) {
    const Tensor& result = tensors_[out[r]];
    const int64_t n = reference::elements_of(result.shape);
    reference::at_least(result.bound.get(), std::sqrt(found[r] / static_cast<double>(kTimes * n)),
                        n, stream_);
    reference::round_bound(result.bounds(), others[r], n, dtype, stream_);
  }
}

void DeviceReference::tighten(Tensor& tensor) {
  const int64_t n = reference::elements_of(tensor.shape);
  if (!tensor.bound || !tensor.rounds || tensor.jumps || tensor.tight ||
      tensor.samples < kLeastElements)
    return;
  const reference::Largest worst(stream_);
  reference::largest_distance(worst.get(), tensor.data.get(), tensor.other.get(),
                              tensor.bound.get(), n, stream_);
  const double by = std::max(
      kLeastShare, 3 * (1 + 2 / std::sqrt(static_cast<double>(tensor.samples))) * worst.fetch());
  if (by < 1) reference::scale_bound(tensor.bound.get(), by, n, stream_);
  tensor.tight = true;
}

const float* DeviceReference::bounds(const std::string& name, DType dtype) {
  Tensor& tensor = tensors_[name];
  if (tensor.bound && !tensor.jumps) {
    reference::exact_overflow(tensor.bound.get(), tensor.data.get(), tensor.other.get(),
                              reference::elements_of(tensor.shape), dtype, stream_);
  }
  tighten(tensor);
  return tensor.bound.get();
}

}  // namespace hirgen
