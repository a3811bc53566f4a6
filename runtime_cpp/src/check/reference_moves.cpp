// The operations of DeviceReference that move elements.
#include "check/bounds.hpp"
#include "check/reference_kernels.hpp"
#include "check/reference_shapes.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

using reference::broadcast_view;
using reference::elements_between;
using reference::elements_of;
using reference::require;
using reference::text;

}  // namespace

void DeviceReference::broadcast(const char* out, const char* in, int axis) {
  Shape shape = found(in).shape;
  require(axis >= 0 && static_cast<size_t>(axis) <= shape.size(), out, "broadcast axis");
  shape.insert(shape.begin() + axis, 1);
  reshape(out, in, shape);
}

void DeviceReference::permute(const char* out, const char* in, const std::vector<int>& perm) {
  const Tensor source = found(in);
  require(perm.size() == source.shape.size(), out, "permutation of " + text(source.shape));
  const Strided plain = broadcast_view(source.shape, source.shape);
  Strided view;
  view.axes = plain.axes;
  Shape shape;
  for (size_t d = 0; d < perm.size(); ++d) {
    shape.push_back(source.shape.at(static_cast<size_t>(perm[d])));
    view.extent[d] = plain.extent[perm[d]];
    view.stride[d] = plain.stride[perm[d]];
  }
  move(out, {source}, shape,
       [&](float* to, const Arrays& in) { reference::gather(to, in[0], view, stream_); });
}

void DeviceReference::reshape(const char* out, const char* in, const Shape& shape) {
  const Tensor source = found(in);
  require(elements_of(shape) == elements_of(source.shape), out,
          text(source.shape) + " into " + text(shape));
  tensors_[out] = source;
  tensors_[out].shape = shape;
}

void DeviceReference::slice(const char* out, const char* in, int axis, int64_t start,
                            int64_t extent) {
  const Tensor source = found(in);
  const auto d = static_cast<size_t>(axis);
  require(axis >= 0 && d < source.shape.size() && start >= 0 && extent >= 1 &&
              start + extent <= source.shape[d],
          out, "a part of " + text(source.shape));
  Strided view = broadcast_view(source.shape, source.shape);
  view.extent[d] = extent;
  Shape shape = source.shape;
  shape[d] = extent;
  const int64_t inner = elements_between(source.shape, d + 1, source.shape.size());
  move(out, {source}, shape, [&](float* to, const Arrays& in) {
    reference::gather(to, in[0] + start * inner, view, stream_);
  });
}

void DeviceReference::concat(const char* out, const std::vector<const char*>& in, int axis) {
  const auto d = static_cast<size_t>(axis);
  std::vector<Tensor> sources;
  for (const char* name : in) sources.push_back(found(name));
  require(!sources.empty() && axis >= 0 && d < sources[0].shape.size(), out, "concat axis");
  Shape shape = sources[0].shape;
  shape[d] = 0;
  for (const Tensor& source : sources) {
    Shape others = source.shape;
    others.at(d) = 0;
    Shape own = shape;
    own[d] = 0;
    require(others == own, out, text(source.shape) + " behind " + text(sources[0].shape));
    shape[d] += source.shape[d];
  }
  move(out, sources, shape, [&](float* to, const Arrays& in) {
    for (size_t i = 0; i < in.size(); ++i) {
      Strided view = broadcast_view(shape, shape);
      view.extent[d] = sources[i].shape[d];
      view.stride[d] = elements_between(shape, d + 1, shape.size());
      reference::scatter(to, view, in[i], stream_);
      to += view.extent[d] * view.stride[d];
    }
  });
}

void DeviceReference::gather(const char* out, const char* table, const char* ids, const char* first,
                             int axis, int batches) {
  const Tensor source = found(table), numbers = found(ids);
  const std::shared_ptr<float> firsts = first == nullptr ? nullptr : found(first).data;
  const auto at = static_cast<size_t>(axis), shared = static_cast<size_t>(batches);
  require(at < source.shape.size() && shared <= at && shared <= numbers.shape.size(), out,
          "rows of " + text(source.shape));
  Shape shape(source.shape.begin(), source.shape.begin() + axis);
  reference::Rows rows{.ids = numbers.data.get(), .first = firsts.get()};
  rows.count = source.shape[at];
  rows.numbers = elements_between(numbers.shape, shared, numbers.shape.size());
  rows.inner = elements_between(source.shape, at + 1, source.shape.size());
  rows.shared = elements_between(source.shape, shared, at);
  if (first != nullptr) rows.counted = elements_of(shape) / elements_of(found(first).shape);
  shape.insert(shape.end(), numbers.shape.begin() + batches, numbers.shape.end());
  shape.insert(shape.end(), source.shape.begin() + axis + 1, source.shape.end());
  move(out, {source}, shape, [&](float* to, const Arrays& in) {
    reference::gather_rows(to, in[0], rows, elements_of(shape), stream_);
  });
  if (!numbers.bound) return;
  if (!tensors_[out].bound) {
    bounded(out, {source}, DType::kFp32, /*repeats=*/true);
    reference::gather_rows(tensors_[out].other.get(), source.data.get(), rows, elements_of(shape),
                           stream_);
  }
  tensors_[out].jumps = true;
  reference::unsure_rows(tensors_[out].bound.get(), numbers.bound.get(), rows, elements_of(shape),
                         stream_);
}

}  // namespace hirgen
