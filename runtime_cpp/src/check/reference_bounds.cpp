// The bounds of DeviceReference; see check/bounds.hpp.
#include <algorithm>
#include <cmath>

#include "check/bounds.hpp"
#include "hirgen/error.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

constexpr const char* kOfReference = "bound the reference";
constexpr const char* kScratch = "the bounds";
constexpr int64_t kLeastElements = 32;  ///< tighten() needs at least this many independent errors
/// The smallest factor of tighten(), because fp32 rounds in any case.
constexpr double kLeastShare = 0x1p-12;

int64_t count_of(const Reference::Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

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

DeviceReference::Tensor& DeviceReference::bounded(const char* out,
                                                  const std::vector<Tensor>& operands, DType dtype,
                                                  bool repeats) {
  Tensor& result = tensors_[out];
  const int64_t n = count_of(result.shape);
  result.bound = allocate(n, out);
  result.other = allocate(n, out);
  HG_CHECK(cudaMemsetAsync(result.bound.get(), 0, static_cast<size_t>(n) * sizeof(float), stream_),
           kOfReference);
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
  Arrays data, others, bounds;
  std::shared_ptr<float> none;  // zeros: the bounds of operands that have none
  for (const Tensor& operand : in) {
    data.push_back(operand.data.get());
    others.push_back(operand.again());
    bounds.push_back(operand.bound.get());
  }
  copy(define(out, shape, in[0].dtype), data);
  if (std::all_of(bounds.begin(), bounds.end(), [](const float* b) { return b == nullptr; })) {
    return;
  }
  int64_t longest = 0;
  for (const Tensor& operand : in) longest = std::max(longest, count_of(operand.shape));
  Tensor& result = bounded(out, in, DType::kFp32, /*repeats=*/true);
  none = allocate(longest, kScratch);
  HG_CHECK(cudaMemsetAsync(none.get(), 0, static_cast<size_t>(longest) * sizeof(float), stream_),
           kOfReference);
  for (const float*& bound : bounds) bound = bound == nullptr ? none.get() : bound;
  copy(result.bound.get(), bounds);
  copy(result.other.get(), others);
}

double DeviceReference::common(const Tensor& operand) const {
  if (!operand.bound) return 0;
  const reference::Largest share(stream_);
  reference::largest_share(share.get(), {operand.data.get(), operand.bound.get()},
                           count_of(operand.shape), stream_);
  const double largest = share.fetch();
  return largest > 1 ? 1 / largest : 0;
}

bool DeviceReference::unsure(const Tensor& operand) const {
  if (!operand.bound) return false;
  const reference::Largest found(stream_);
  reference::any_infinite(found.get(), operand.bound.get(), count_of(operand.shape), stream_);
  return found.fetch() > 0;
}

double DeviceReference::partial(int64_t terms, DType operand, DType result) const {
  if (terms == 1) return 0;
  double epsilon = reference::epsilon_of(result);
  if (!is_integer(operand) && size_of(operand) > 1)
    epsilon = std::max(epsilon, reference::epsilon_of(operand));
  return reference::kSpread / 2 * std::sqrt(ranks_) * epsilon;
}

void DeviceReference::bound_product(const char* out, const std::vector<Tensor>& operands,
                                    bool transposed_b, DType dtype) {
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, operands, dtype);
  const int64_t n = count_of(result.shape), terms = operands[0].shape.back();
  const double narrow = size_of(operands[0].dtype) == 1 ? reference::kNarrow : 0;
  // Returns tensors with the shapes of the operands, and array(operand) as their elements.
  const auto replaced = [&](const std::function<std::shared_ptr<float>(const Tensor&)>& array) {
    std::vector<Tensor> list;
    for (const Tensor& operand : operands) list.push_back({operand.shape, array(operand)});
    return list;
  };
  const auto squares_of = [&](const Tensor& operand, bool elements, bool bounds) {
    const std::shared_ptr<float> squares = allocate(count_of(operand.shape), kScratch);
    reference::add_squares(squares.get(), elements ? operand.data.get() : nullptr,
                           bounds ? operand.bound.get() : nullptr, count_of(operand.shape),
                           stream_);
    return squares;
  };
  multiply(result.other.get(), replaced([](const Tensor& t) { return t.other ? t.other : t.data; }),
           transposed_b, DType::kFp32);
  std::vector<Tensor> elements =
      replaced([&](const Tensor& t) { return squares_of(t, true, false); });
  const std::shared_ptr<float> squares = allocate(n, kScratch);
  multiply(squares.get(), elements, transposed_b, DType::kFp32);

  reference::Products products{
      .value = tensors_[out].data.get(),
      .squares = squares.get(),
      .common = 0,
      .partial = std::hypot(partial(terms, operands[0].dtype, dtype), narrow),
      .sum = reference::kSpread * reference::kChopped * reference::kEpsilon *
             std::sqrt(static_cast<double>(terms)),
      .unsure = false};
  bool noisy = false;
  for (const Tensor& operand : operands) {
    noisy = noisy || operand.bound != nullptr;
    products.common += common(operand);
    products.unsure = products.unsure || unsure(operand);
  }
  if (noisy) {
    const std::shared_ptr<float> more = allocate(n, kScratch);
    std::vector<Tensor> bounds =
        replaced([&](const Tensor& t) { return squares_of(t, false, true); });
    const Tensor first = bounds[0];
    bounds[0] = elements[0];
    multiply(result.bound.get(), bounds, transposed_b, DType::kFp32);  // also the bias's bounds
    multiply(more.get(), {first, {operands[1].shape, squares_of(operands[1], true, true)}},
             transposed_b, DType::kFp32);
    reference::add_to(result.bound.get(), more.get(), n, stream_);
  }
  reference::product_bound(products, result.bound.get(), result.other.get(), n, dtype, stream_);
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
    memory.push_back(allocate(count_of(tensors_[name].shape), kScratch));
    shaken.push_back(memory.back().get());
  }
  uint64_t seed = 1;
  Arrays again;  // operands, moved by epsilon / 4: a program also rounds intermediates
  for (size_t i = 0; i < operands.size(); ++i) {
    const int64_t n = count_of(operands[i].shape);
    memory.push_back(allocate(n, kScratch));
    again.push_back(memory.back().get());
    reference::shake(memory.back().get(), {operands[i].again(), nullptr}, roundings[i] / 4, seed++,
                     n, stream_);
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
      const int64_t n = count_of(operands[i].shape);
      copies.push_back(allocate(n, kScratch));
      moved.push_back(copies.back().get());
      reference::shake(copies.back().get(), {operands[i].data.get(), operands[i].bound.get()},
                       reference::kSpread * roundings[i], seed++, n, stream_);
    }
    attend(moved, shaken);
    for (size_t r = 0; r < out.size(); ++r) {
      const Tensor& result = tensors_[out[r]];
      reference::widen_bound(result.bound.get(), shaken[r], result.data.get(), any_number,
                             count_of(result.shape), squares + r, stream_);
    }
  }
  std::vector<double> found(out.size());
  HG_CHECK(cudaMemcpyAsync(found.data(), squares, found.size() * sizeof(double),
                           cudaMemcpyDeviceToHost, stream_),
           kOfReference);
  HG_CHECK(cudaStreamSynchronize(stream_), kOfReference);
  for (size_t r = 0; r < out.size(); ++r) {
    const Tensor& result = tensors_[out[r]];
    const int64_t n = count_of(result.shape);
    reference::at_least(result.bound.get(), std::sqrt(found[r] / static_cast<double>(kTimes * n)),
                        n, stream_);
    reference::round_bound(result.bound.get(), others[r], n, dtype, stream_);
  }
}

void DeviceReference::tighten(Tensor& tensor) {
  const int64_t n = count_of(tensor.shape);
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
                              count_of(tensor.shape), dtype, stream_);
  }
  tighten(tensor);
  return tensor.bound.get();
}

}  // namespace hirgen
