#include "check/reference_attention.hpp"

#include <vector>

#include "check/bounds.hpp"
#include "hirgen/error.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {
namespace {

/// Returns the extents of an attention with these shapes of queries and keys. Throws
/// Error(kInternal) for wrong numbers of axes; hirgen has checked the extents.
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
  const std::vector<Tensor> operands = {found(q), found(k), found(v)};
  auto p = attention_of(kind, operands[0].shape, operands[1].shape, dtype);
  const auto attend = [&](const Arrays& in, const std::vector<float*>& results) {
    reference::attention(p, results[0], results.size() > 1 ? results[1] : nullptr, in[0], in[1],
                         in[2], stream_);
  };
  const Shape& shape = operands[0].shape;
  std::vector<const char*> names = {out};
  std::vector<float*> results = {define(out, shape, dtype)};
  if (logs != nullptr) {
    names.push_back(logs);
    results.push_back(define(logs, Shape(shape.begin(), shape.end() - 1), DType::kFp32));
  }
  attend({operands[0].data.get(), operands[1].data.get(), operands[2].data.get()}, results);
  p.dtype = DType::kFp32;
  bound_attention(names, operands, std::vector<double>(3, reference::epsilon_of(dtype)), dtype,
                  attend);
}

void DeviceReference::attention_grad(const GradNames& out, const AttentionKind& kind,
                                     const char* grad_o, const char* q, const char* k,
                                     const char* v, const char* o, const char* logs, DType dtype) {
  std::vector<Tensor> operands;
  Arrays data;
  for (const char* name : {grad_o, q, k, v, o, logs}) {
    operands.push_back(found(name));
    data.push_back(operands.back().data.get());
  }
  const Shape &queries = operands[1].shape, &keys = operands[2].shape;
  auto p = attention_of(kind, queries, keys, dtype);
  Shape shape = keys;
  if (queries.size() > keys.size()) shape.insert(shape.begin(), p.blocks);
  const auto attend = [&](const Arrays& in, const std::vector<float*>& grads) {
    reference::attention_grad(
        p, {in[0], in[1], in[2], in[3], in[4], in[5], grads[0], grads[1], grads[2]}, stream_);
  };
  attend(data,
         {define(out.q, queries, dtype), define(out.k, shape, dtype), define(out.v, shape, dtype)});
  p.dtype = DType::kFp32;
  std::vector<double> roundings(6, reference::epsilon_of(dtype));
  roundings[5] = reference::kEpsilon;  // log-sum-exps are fp32
  bound_attention({out.q, out.k, out.v}, operands, roundings, dtype, attend);
}

}  // namespace hirgen
