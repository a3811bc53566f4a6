#include "check/reference_attention.hpp"

#include <algorithm>
#include <cmath>

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

/// Measures the cancellation in the results of an attention. Make it before these are defined: it
/// keeps the cancellation of the operands.
class DeviceReference::Cancelled {
 public:
  explicit Cancelled(DeviceReference& all)
      : all_(all), before_(all.lost_), memory_(all.allocate(kFloats, "what cancels")) {
    HG_CHECK(cudaMemsetAsync(get(), 0, kFloats * sizeof(float), all.stream_), kCancelled);
  }
  reference::Squares* get() const { return reinterpret_cast<reference::Squares*>(memory_.get()); }

  void note(const std::vector<const char*>& results) const {
    reference::Squares squares[3];
    HG_CHECK(cudaMemcpyAsync(squares, get(), sizeof(squares), cudaMemcpyDeviceToHost, all_.stream_),
             kCancelled);
    HG_CHECK(cudaStreamSynchronize(all_.stream_), kCancelled);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr) continue;
      Tensor& tensor = all_.tensors_[results[i]];
      const auto [elements, terms] = squares[i];
      double count = 1;
      for (const int64_t extent : tensor.shape) count *= static_cast<double>(extent);
      tensor.terms = std::sqrt(terms / count);
      tensor.lost = std::max(before_, elements > 0 ? std::sqrt(terms / elements) : 1);
    }
  }

 private:
  static constexpr const char* kCancelled = "evaluate the reference";
  static constexpr int64_t kFloats = 3 * sizeof(reference::Squares) / sizeof(float);
  DeviceReference& all_;
  double before_;
  std::shared_ptr<float> memory_;
};

void DeviceReference::attention(const char* out, const char* logs, const AttentionKind& kind,
                                const char* q, const char* k, const char* v, DType dtype) {
  const Tensor queries = tensor(q), keys = tensor(k), values = tensor(v);
  const auto p = attention_of(kind, queries.shape, keys.shape, dtype);
  const Cancelled squares(*this);
  float* result = define(out, queries.shape);
  float* sums = nullptr;
  if (logs != nullptr) {
    sums = define(logs, Shape(queries.shape.begin(), queries.shape.end() - 1));
  }
  reference::attention(p, result, sums, squares.get(), queries.data.get(), keys.data.get(),
                       values.data.get(), stream_);
  squares.note({out, logs});
}

void DeviceReference::attention_grad(const GradNames& out, const AttentionKind& kind,
                                     const char* grad_o, const char* q, const char* k,
                                     const char* v, const char* o, const char* logs, DType dtype) {
  const Tensor slope = tensor(grad_o), queries = tensor(q), keys = tensor(k), values = tensor(v);
  const Tensor result = tensor(o), sums = tensor(logs);
  const auto p = attention_of(kind, queries.shape, keys.shape, dtype);
  Shape shape = keys.shape;
  if (queries.shape.size() > shape.size()) shape.insert(shape.begin(), p.blocks);
  const Cancelled squares(*this);
  const reference::AttentionGrad operands{slope.data.get(),
                                          queries.data.get(),
                                          keys.data.get(),
                                          values.data.get(),
                                          result.data.get(),
                                          sums.data.get(),
                                          define(out.q, queries.shape),
                                          define(out.k, shape),
                                          define(out.v, shape),
                                          squares.get()};
  reference::attention_grad(p, operands, stream_);
  squares.note({out.q, out.k, out.v});
}

}  // namespace hirgen
