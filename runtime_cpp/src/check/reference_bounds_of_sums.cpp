// The bounds of sums and products of DeviceReference; see check/bounds.hpp.
#include <algorithm>
#include <cmath>

#include "check/bounds.hpp"
#include "check/reference_shapes.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

constexpr const char* kTerms = "the bounds of a sum";

}  // namespace

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
  const int64_t n = reference::elements_of(result.shape), terms = operands[0].shape.back();
  const double narrow = size_of(operands[0].dtype) == 1 ? reference::kNarrow : 0;
  // Returns tensors with the shapes of the operands, and array(operand) as their elements.
  const auto replaced = [&](const std::function<std::shared_ptr<float>(const Tensor&)>& array) {
    std::vector<Tensor> list;
    for (const Tensor& operand : operands) list.push_back({operand.shape, array(operand)});
    return list;
  };
  const auto squares_of = [&](const Tensor& operand, bool elements, bool bounds) {
    const int64_t count = reference::elements_of(operand.shape);
    const std::shared_ptr<float> squares = allocate(count, kTerms), rest = zeros(count);
    if (bounds) reference::rests(rest.get(), operand.noisy(), count, stream_);
    reference::add_squares(squares.get(), elements ? operand.data.get() : nullptr, rest.get(),
                           count, stream_);
    return squares;
  };
  multiply(result.other.get(), replaced([](const Tensor& t) { return t.other ? t.other : t.data; }),
           transposed_b, DType::kFp32);
  std::vector<Tensor> elements =
      replaced([&](const Tensor& t) { return squares_of(t, true, false); });
  const std::shared_ptr<float> squares = allocate(n, kTerms);
  multiply(squares.get(), elements, transposed_b, DType::kFp32);

  reference::Products products{
      .value = tensors_[out].data.get(),
      .squares = squares.get(),
      .common = 0,
      .partial = std::hypot(partial(terms, operands[0].dtype, dtype), narrow),
      .sum = reference::kSpread * reference::kChopped * reference::kEpsilon *
             std::sqrt(static_cast<double>(terms)),
      .unsure = false,
      .seed = ++seeds_};
  bool noisy = false;
  for (const Tensor& operand : operands) {
    noisy = noisy || operand.bound != nullptr;
    products.common += common(operand);
    products.unsure = products.unsure || unsure(operand);
  }
  if (noisy) {
    const std::shared_ptr<float> more = allocate(n, kTerms);
    std::vector<Tensor> bounds =
        replaced([&](const Tensor& t) { return squares_of(t, false, true); });
    const Tensor first = bounds[0];
    bounds[0] = elements[0];
    multiply(result.bound.get(), bounds, transposed_b, DType::kFp32);  // also the bias's bounds
    multiply(more.get(), {first, {operands[1].shape, squares_of(operands[1], true, true)}},
             transposed_b, DType::kFp32);
    reference::add_to(result.bound.get(), more.get(), n, stream_);
  }
  add_leaps(result, operands, transposed_b);
  reference::product_bound(products, result.bounds(), result.other.get(), n, dtype, stream_);
}

void DeviceReference::add_leaps(Tensor& result, const std::vector<Tensor>& operands,
                                bool transposed_b) {
  if (std::none_of(operands.begin(), operands.end(), [](const Tensor& t) { return t.leap; })) {
    return;
  }
  const int64_t n = reference::elements_of(result.shape);
  std::vector<Tensor> leaps, sizes;  // of leaps; of elements within their bounds
  for (const Tensor& operand : operands) {
    const int64_t count = reference::elements_of(operand.shape);
    Tensor leap{operand.shape, operand.leap ? operand.leap : zeros(count)};
    Tensor size{operand.shape, allocate(count, kTerms)};
    const std::shared_ptr<float> rest = zeros(count);
    reference::rests(rest.get(), operand.noisy(), count, stream_);
    // The leaps of the second operand are also multiplied by errors of the first, without leaps.
    const float* error = leaps.empty() ? rest.get() : operand.bound.get();
    reference::add_sizes(size.data.get(), operand.data.get(), error, count, stream_);
    leaps.push_back(std::move(leap));
    sizes.push_back(std::move(size));
  }
  result.leap = zeros(n);
  const std::shared_ptr<float> more = allocate(n, kTerms);
  multiply(more.get(), {sizes[0], leaps[1]}, transposed_b, DType::kFp32);
  leaps[1] = sizes[1];
  multiply(result.leap.get(), leaps, transposed_b, DType::kFp32);  // also the bias's leaps
  reference::add_to(result.leap.get(), more.get(), n, stream_);
}

}  // namespace hirgen
