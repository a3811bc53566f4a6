#include "check/reference_attention.hpp"

#include "hirgen/error.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

/// The extents of an attention with these queries and keys, which the model has checked.
reference::Attention attention_of(const AttentionKind& kind, Reference::Shape q,
                                  const Reference::Shape& k, DType dtype) {
  reference::Attention p{.kind = kind, .dtype = dtype};
  const size_t n = k.size();
  if (n < 3 || q.size() < n || q.size() > n + 1) {
    throw Error(Code::kInternal, "reference of an attention: its axes do not fit");
  }
  if (q.size() > n) {
    p.blocks = q.front();
    q.erase(q.begin());
  }
  for (size_t d = 0; d + 3 < n; ++d) p.batch *= k[d];
  p.query_heads = q[n - 3];
  p.rows = q[n - 2];
  p.key_heads = k[n - 3];
  p.keys = k[n - 2];
  p.size = k[n - 1];
  return p;
}

}  // namespace

void DeviceReference::attention(const char* out, const char* logs, const AttentionKind& kind,
                                const char* q, const char* k, const char* v, DType dtype) {
  const Tensor queries = tensor(q), keys = tensor(k), values = tensor(v);
  const auto p = attention_of(kind, queries.shape, keys.shape, dtype);
  float* result = define(out, queries.shape);
  float* sums = nullptr;
  if (logs != nullptr) {
    sums = define(logs, Shape(queries.shape.begin(), queries.shape.end() - 1));
  }
  reference::attention(p, result, sums, queries.data.get(), keys.data.get(), values.data.get(),
                       stream_);
}

void DeviceReference::attention_grad(const GradNames& out, const AttentionKind& kind,
                                     const char* grad_o, const char* q, const char* k,
                                     const char* v, const char* o, const char* logs, DType dtype) {
  const Tensor slope = tensor(grad_o), queries = tensor(q), keys = tensor(k), values = tensor(v);
  const Tensor result = tensor(o), sums = tensor(logs);
  const auto p = attention_of(kind, queries.shape, keys.shape, dtype);
  Shape shape = keys.shape;
  if (queries.shape.size() > shape.size()) shape.insert(shape.begin(), p.blocks);
  const reference::AttentionGrad operands{slope.data.get(),
                                          queries.data.get(),
                                          keys.data.get(),
                                          values.data.get(),
                                          result.data.get(),
                                          sums.data.get(),
                                          define(out.q, queries.shape),
                                          define(out.k, shape),
                                          define(out.v, shape)};
  reference::attention_grad(p, operands, stream_);
}

}  // namespace hirgen
