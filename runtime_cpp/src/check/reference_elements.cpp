// The operations of DeviceReference that compute element by element or reduce an axis.
#include "check/bounds.hpp"
#include "check/reference_kernels.hpp"
#include "check/reference_shapes.hpp"
#include "hirgen/error.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

using reference::broadcast_shape;
using reference::broadcast_view;
using reference::elements_between;
using reference::elements_of;
using reference::require;
using reference::text;

}  // namespace

void DeviceReference::positions(const char* out, int64_t extent) {
  launch_positions(define(out, {extent}, DType::kFp32), 0, extent, stream_, reference::kEvaluation);
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
      reference::kEvaluation);
  HG_CHECK(cudaStreamSynchronize(stream_), reference::kEvaluation);
  in.seed = key.seed.value_or(static_cast<int64_t>(generated));
  const int64_t n = elements_of(source.shape);
  reference::dropout(kind, define(out, source.shape, dtype), in, n, dtype, stream_);
  if (ranks_ == 0) return;
  Tensor& result = bounded(out, {source}, dtype);
  if (source.bound) {
    in.x = source.bound.get();
    reference::dropout(kind, result.bound.get(), in, n, DType::kFp32, stream_);
  }
  if (source.leap) {
    in.x = source.leap.get();
    result.leap = zeros(n);
    reference::dropout(kind, result.leap.get(), in, n, DType::kFp32, stream_);
  }
  in.x = source.again();
  reference::dropout(kind, result.other.get(), in, n, DType::kFp32, stream_);
  reference::round_bound(result.bounds(), result.other.get(), n, dtype, stream_);
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
  if (size_of(dtype) == 1) {  // saturates: an infinity becomes a number here, too
    const float most = round_to(dtype, INFINITY);
    for (const UnaryFn clamp : {UnaryFn{UnaryFn::kClampMin, -most}, {UnaryFn::kClampMax, most}}) {
      reference::unary(clamp, result.other.get(), result.other.get(), n, DType::kFp32, stream_);
    }
  }
  const reference::Largest jumps(stream_);
  result.leap = zeros(n);
  reference::unary_bound(function, result.bounds(), source.noisy(), n, dtype, jumps.get(), stream_);
  result.jumps = result.jumps || jumps.fetch() > 0;
  if (!result.jumps) result.leap.reset();
  if (function.kind == UnaryFn::kExp && dtype == DType::kFp32 && source.bound) {
    result.log_value = source.data;
    result.log_bound = source.bound;
  }
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
  result.leap = zeros(elements_of(shape));
  reference::binary_bound(function, result.bounds(), left.noisy(), rows, right.noisy(), other,
                          left.data == right.data, dtype, jumps.get(), stream_);
  bool jumped = jumps.fetch() > 0;
  if ((function == BinaryFn::kEq || function == BinaryFn::kGe) && jumped &&
      right.are_largest_of(left)) {
    const reference::Largest uncertain(stream_);
    const size_t d = right.along;
    reference::bound_largest(result.bounds(), left.noisy(), elements_between(shape, 0, d), shape[d],
                             elements_between(shape, d + 1, shape.size()), uncertain.get(),
                             stream_);
    jumped = uncertain.fetch() > 0;
  }
  result.jumps = result.jumps || jumped;
  if (!result.jumps) result.leap.reset();
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
  if (source.leap) result.leap = zeros(outer * inner);
  if (function == ReduceFn::kMax) {
    result.largest_of = source.data;
    result.rows = source.shape;
    result.along = d;
  }
  reference::reduce_bound(function, result.bounds(), result.other.get(), source.noisy(), outer,
                          count, inner, common(source), partial(count, source.dtype, dtype),
                          ++seeds_, dtype, ranks_ > 1, stream_);
  if (function != ReduceFn::kSum || dtype != DType::kFp32 || !source.log_value) return;
  result.log_value = allocate(outer * inner, reference::kEvaluation);
  result.log_bound = allocate(outer * inner, reference::kEvaluation);
  reference::sum_logarithms(result.log_value.get(), result.log_bound.get(),
                            {source.log_value.get(), source.log_bound.get()}, outer, count, inner,
                            stream_);
  result.summed = true;
}

}  // namespace hirgen
