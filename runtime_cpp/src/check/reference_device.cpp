#include "hirgen/reference_device.hpp"

#include <algorithm>
#include <cstring>

#include "check/bounds.hpp"
#include "check/reference_kernels.hpp"
#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"

namespace hirgen {
namespace {

constexpr const char* kReference = "evaluate the reference";
using Shape = Reference::Shape;

/// Returns the product of the extents of axes from..to-1.
int64_t elements_between(const Shape& shape, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= shape[d];
  return product;
}

int64_t elements_of(const Shape& shape) { return elements_between(shape, 0, shape.size()); }

std::string text(const Shape& shape) {
  std::string result = "[";
  for (const int64_t extent : shape) {
    result += (result.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return result + "]";
}

/// Throws Error(kInternal) unless `holds`: hirgen has checked the operands, so a mismatch is a bug.
void require(bool holds, const char* out, const std::string& what) {
  if (!holds) throw Error(Code::kInternal, std::string("reference of ") + out + ": " + what);
}

/// Returns the view of a row-major tensor of `shape`, broadcast to `extents` as in NumPy: the last
/// axes correspond, and axes of one element have stride 0.
Strided broadcast_view(const Shape& shape, const Shape& extents) {
  Strided view;
  view.axes = static_cast<int>(extents.size());
  int64_t stride = 1;
  for (size_t back = 0; back < extents.size(); ++back) {
    const size_t d = extents.size() - 1 - back;
    const int64_t own = back < shape.size() ? shape[shape.size() - 1 - back] : 1;
    view.extent[d] = extents[d];
    view.stride[d] = own == 1 ? 0 : stride;
    stride *= own;
  }
  return view;
}

/// Returns the shape to which two operands broadcast; throws Error(kInternal) if they do not.
Shape broadcast_shape(const char* out, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); ++d) {
    int64_t& extent = shape[lead + d];
    require(extent == shorter[d] || extent == 1 || shorter[d] == 1, out,
            text(a) + " and " + text(b) + " do not broadcast");
    extent = extent == 1 ? shorter[d] : extent;
  }
  return shape;
}

/// Returns the matmul of shapes `a` and `b`. If b is one matrix, the leading axes of `a` are rows;
/// otherwise they are batch axes.
reference::Matmul matmul_of(const char* out, const Shape& a, const Shape& b, bool transposed_b,
                            DType dtype) {
  require(a.size() >= 2 && b.size() >= 2, out, text(a) + " times " + text(b));
  const int64_t b0 = b[b.size() - 2], b1 = b[b.size() - 1];
  reference::Matmul p{
      1, a[a.size() - 2], transposed_b ? b0 : b1, a.back(), b.size() == 2, transposed_b, dtype};
  require((transposed_b ? b1 : b0) == p.k, out, text(a) + " times " + text(b));
  const int64_t leading = elements_of(a) / (p.m * p.k);
  if (p.shared_b) {
    p.m *= leading;
  } else {
    p.batch = leading;
  }
  return p;
}

/// Returns the batch axes of an operand of a matmul: all but the last two.
Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// Returns the shape of a matmul's result: a's shape with last axis n.
Shape result_shape(Shape a, int64_t n) {
  a.back() = n;
  return a;
}

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
      kReference);
  widen_elements(data, staging.get(), input.dtype, elements, stream_);
  HG_CHECK(cudaStreamSynchronize(stream_), kReference);
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

DeviceReference::Tensor DeviceReference::stretch(const Tensor& operand, Shape batch) {
  batch.insert(batch.end(), operand.shape.end() - 2, operand.shape.end());
  if (batch == operand.shape) return operand;
  const Tensor result{batch, allocate(elements_of(batch), "a stretched operand")};
  reference::gather(result.data.get(), operand.data.get(), broadcast_view(operand.shape, batch),
                    stream_);
  return result;
}

void DeviceReference::multiply(float* out, std::vector<Tensor> operands, bool transposed_b,
                               DType dtype) {
  Tensor &left = operands[0], &right = operands[1];
  if (right.shape.size() > 2) {
    const Shape batch = broadcast_shape("a product", batch_of(left.shape), batch_of(right.shape));
    left = stretch(left, batch);
    right = stretch(right, batch);
  }
  auto p = matmul_of("a product", left.shape, right.shape, transposed_b, dtype);
  const float* bias = operands.size() > 2 ? operands[2].data.get() : nullptr;
  if (bias == nullptr || operands[2].shape.size() == 1) {
    reference::matmul(p, out, left.data.get(), right.data.get(), bias, stream_);
    return;
  }
  // Each batch has a bias row, which is added to the sums before rounding.
  p.dtype = DType::kFp32;
  reference::matmul(p, out, left.data.get(), right.data.get(), nullptr, stream_);
  const Shape shape = result_shape(left.shape, p.n);
  Shape rows = operands[2].shape;
  rows.insert(rows.end() - 1, 1);
  reference::binary(BinaryFn::kAdd, out, out, broadcast_view(shape, shape), bias,
                    broadcast_view(rows, shape), dtype, stream_);
}

void DeviceReference::product(const char* out, const std::vector<Tensor>& operands,
                              bool transposed_b, DType dtype) {
  Shape a = operands[0].shape;
  const Shape& b = operands[1].shape;
  const auto p = matmul_of(out, a, b, transposed_b, dtype);
  if (b.size() > 2) {
    const Shape batch = broadcast_shape(out, batch_of(a), batch_of(b));
    a = Shape(a.end() - 2, a.end());
    a.insert(a.begin(), batch.begin(), batch.end());
  }
  multiply(define(out, result_shape(a, p.n), dtype), operands, transposed_b, dtype);
  bound_product(out, operands, transposed_b, dtype);
}

void DeviceReference::matmul(const char* out, const char* a, const char* b, DType dtype) {
  product(out, {found(a), found(b)}, false, dtype);
}

void DeviceReference::linear(const char* out, const char* x, const char* w, const char* bias,
                             DType dtype) {
  std::vector<Tensor> operands = {found(x), found(w)};
  if (bias != nullptr) {
    const Shape &row = found(bias).shape, &weights = operands[1].shape;
    require(row.size() + 1 == weights.size() && std::equal(row.begin(), row.end(), weights.begin()),
            out, "bias " + text(row));
    operands.push_back(found(bias));
  }
  product(out, operands, true, dtype);
}

DeviceReference::Tensor DeviceReference::scaled(const char* in, const char* scales, int64_t rows) {
  constexpr int64_t kBlock = 128;
  const Tensor source = found(in);
  Shape blocks = source.shape, of = found(scales).shape;
  require(blocks.size() > 1 && of.size() == blocks.size() && of.back() * kBlock == blocks.back() &&
              of[of.size() - 2] * rows == blocks[blocks.size() - 2],
          in, "scales " + text(of));
  blocks.back() /= kBlock;
  blocks.push_back(kBlock);
  of.push_back(1);
  blocks.insert(blocks.end() - 2, rows);
  blocks[blocks.size() - 4] /= rows;
  of.insert(of.end() - 2, 1);
  reshape("elements in blocks", in, blocks);
  reshape("scales in blocks", scales, of);
  binary("scaled blocks", "mul", "elements in blocks", "scales in blocks", DType::kFp32);
  reshape("scaled", "scaled blocks", source.shape);
  Tensor result = found("scaled");
  result.dtype = source.dtype;  // bound_product() uses it: 8-bit products add less precisely
  for (const char* name : {"elements in blocks", "scales in blocks", "scaled blocks", "scaled"}) {
    tensors_.erase(name);
  }
  return result;
}

void DeviceReference::block_linear(const char* out, const char* x, const char* w, const char* s,
                                   const char* t, DType dtype) {
  product(out, {scaled(x, s, 1), scaled(w, t, 128)}, true, dtype);
}

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

void DeviceReference::positions(const char* out, int64_t extent) {
  launch_positions(define(out, {extent}, DType::kFp32), 0, extent, stream_, kReference);
}

void DeviceReference::dropout(const char* out, const Dropout& kind, const char* x, const char* seed,
                              const char* column, const char* row, DType dtype) {
  const Tensor source = found(x), key = found(seed), columns = found(column);
  require(elements_of(key.shape) == 1, out, "the seed " + text(key.shape));
  reference::DropoutOperands in{.x = source.data.get(), .column = columns.data.get()};
  in.column_view = broadcast_view(columns.shape, source.shape);
  std::shared_ptr<float> rows;
  if (row != nullptr) {
    rows = found(row).data;
    in.row = rows.get();
    in.row_view = broadcast_view(found(row).shape, source.shape);
  }
  float generated = 0;
  HG_CHECK(
      cudaMemcpyAsync(&generated, key.data.get(), sizeof(float), cudaMemcpyDeviceToHost, stream_),
      kReference);
  HG_CHECK(cudaStreamSynchronize(stream_), kReference);
  in.seed = key.seed.value_or(static_cast<int64_t>(generated));
  const int64_t n = elements_of(source.shape);
  reference::dropout(kind, define(out, source.shape, dtype), in, n, dtype, stream_);
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, {source}, dtype);
  if (source.bound) {
    in.x = source.bound.get();
    reference::dropout(kind, result.bound.get(), in, n, DType::kFp32, stream_);
  }
  in.x = source.again();
  reference::dropout(kind, result.other.get(), in, n, DType::kFp32, stream_);
  reference::round_bound(result.bound.get(), result.other.get(), n, dtype, stream_);
}

void DeviceReference::cast(const char* out, const char* in, DType dtype) {
  unary(out, "copy", in, dtype);
}

void DeviceReference::unary(const char* out, const char* fn, const char* in, DType dtype) {
  const Tensor source = found(in);
  const UnaryFn function = unary_fn(fn);
  const int64_t n = elements_of(source.shape);
  reference::unary(function, define(out, source.shape, dtype), source.data.get(), n, dtype,
                   stream_);
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, {source}, dtype, reference::chooses(function));
  reference::unary(function, result.other.get(), source.again(), n,
                   is_integer(dtype) ? dtype : DType::kFp32, stream_);
  const reference::Largest jumps(stream_);
  reference::unary_bound(function, result.bound.get(), {source.data.get(), source.bound.get()}, n,
                         dtype, jumps.get(), stream_);
  result.jumps = result.jumps || jumps.fetch() > 0;
}

void DeviceReference::binary(const char* out, const char* fn, const char* a, const char* b,
                             DType dtype) {
  const Tensor left = found(a), right = found(b);
  const BinaryFn function = binary_fn(fn);
  const Shape shape = broadcast_shape(out, left.shape, right.shape);
  const Strided rows = broadcast_view(left.shape, shape),
                other = broadcast_view(right.shape, shape);
  reference::binary(function, define(out, shape, dtype), left.data.get(), rows, right.data.get(),
                    other, dtype, stream_);
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, {left, right}, dtype, reference::chooses(function));
  reference::binary(function, result.other.get(), left.again(), rows, right.again(), other,
                    DType::kFp32, stream_);
  const reference::Largest jumps(stream_);
  reference::binary_bound(function, result.bound.get(), {left.data.get(), left.bound.get()}, rows,
                          {right.data.get(), right.bound.get()}, other, left.data == right.data,
                          dtype, jumps.get(), stream_);
  result.jumps = result.jumps || jumps.fetch() > 0;
}

void DeviceReference::reduce(const char* out, const char* fn, const char* in, int axis,
                             DType dtype) {
  const Tensor source = found(in);
  const ReduceFn function = reduce_fn(fn);
  const auto d = static_cast<size_t>(axis);
  require(axis >= 0 && d < source.shape.size(), out, "reduction axis");
  const int64_t outer = elements_between(source.shape, 0, d);
  const int64_t inner = elements_between(source.shape, d + 1, source.shape.size());
  const int64_t count = source.shape[d];
  Shape shape = source.shape;
  shape.erase(shape.begin() + axis);
  reference::reduce(function, define(out, shape, dtype), source.data.get(), outer, count, inner,
                    dtype, stream_);
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, {source}, dtype, reference::chooses(function));
  reference::reduce(function, result.other.get(), source.again(), outer, count, inner, DType::kFp32,
                    stream_);
  reference::reduce_bound(function, result.bound.get(), result.other.get(),
                          {source.data.get(), source.bound.get()}, outer, count, inner,
                          common(source), partial(count, source.dtype, dtype), dtype, ranks_ > 1,
                          stream_);
}

}  // namespace hirgen
