// The products of DeviceReference: matmul, linear, and linear with scales of blocks.
#include <algorithm>

#include "check/reference_kernels.hpp"
#include "check/reference_shapes.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

using reference::broadcast_shape;
using reference::broadcast_view;
using reference::elements_of;
using reference::require;
using reference::Shape;
using reference::text;

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

}  // namespace hirgen
