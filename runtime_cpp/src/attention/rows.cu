#include "attention/rows.hpp"
#include "attention/shape.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {
namespace {

/// A row of one head: of a batch, a head and a position in it.
struct RowIndex {
  int64_t batch, head, row;

  /// The i-th of all rows of `heads` heads of `rows` rows.
  HG_HOST_DEVICE static RowIndex of(int64_t i, int64_t heads, int64_t rows) {
    return {i / rows / heads, i / rows % heads, i % rows};
  }
  HG_HOST_DEVICE int64_t offset(const AttentionStride& stride) const {
    return batch * stride.batch + head * stride.head + row * stride.row;
  }
};

template <typename T>
HG_HOST_DEVICE float dot(const T* a, const T* b, int64_t count) {
  float sum = 0;
  for (int64_t d = 0; d < count; ++d) sum += widen(a[d]) * widen(b[d]);
  return sum;
}

/// sum += by * row.
template <typename T>
HG_HOST_DEVICE void add(float* sum, float by, const T* row, int64_t count) {
  for (int64_t d = 0; d < count; ++d) sum[d] += by * widen(row[d]);
}

template <typename T>
HG_HOST_DEVICE void write(T* row, const float* sum, float by, int64_t count) {
  for (int64_t d = 0; d < count; ++d) narrow(sum[d] * by, row[d]);
}

template <typename T>
struct Forward {
  AttentionShape shape;
  AttentionLayout layout;
  const T *q, *k, *v;
  T* o;
  float* lse;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const RowIndex query = RowIndex::of(i, shape.query_heads, shape.query_rows);
    const int64_t group = shape.query_heads / shape.key_heads, size = shape.head_size;
    const RowRange keys = keys_of(shape, query.row);
    float sums[kMostHeadSize] = {}, most = -INFINITY, total = 0;
    for (int64_t row = keys.begin; row < keys.end; ++row) {
      const RowIndex key{query.batch, query.head / group, row};
      const float score =
          shape.scale * dot(q + query.offset(layout.q), k + key.offset(layout.k), size);
      if (score > most) {
        const float shrink = expf(most - score);
        for (int64_t d = 0; d < size; ++d) sums[d] *= shrink;
        total *= shrink;
        most = score;
      }
      const float weight = expf(score - most);
      total += weight;
      add(sums, weight, v + key.offset(layout.v), size);
    }
    const bool sees = keys.begin < keys.end;
    write(o + query.offset(layout.o), sums, sees ? 1 / total : 0.0F, size);
    if (lse != nullptr) lse[i] = most + logf(total);
  }
};

/// What both halves of the gradient compute of a query and a key.
template <typename T>
struct Backward {
  AttentionShape shape;
  AttentionLayout layout, gradient_layout;
  const T *grad_o, *q, *k, *v, *o;
  const float* lse;
  T *grad_q, *grad_k, *grad_v;

  /// The probability of the key, and the gradient of the score before its scale.
  struct Weights {
    float probability, score;
  };

  HG_HOST_DEVICE Weights weights(const RowIndex& query, const RowIndex& key) const {
    const int64_t size = shape.head_size;
    const T* grad_row = grad_o + query.offset(gradient_layout.o);
    const float score =
        shape.scale * dot(q + query.offset(layout.q), k + key.offset(layout.k), size);
    const int64_t at =
        (query.batch * shape.query_heads + query.head) * shape.query_rows + query.row;
    const float p = expf(score - lse[at]);
    const float back = dot(grad_row, v + key.offset(layout.v), size);
    const float mean = dot(grad_row, o + query.offset(layout.o), size);
    return {p, shape.scale * p * (back - mean)};
  }
};

template <typename T>
struct BackwardOfQueries : Backward<T> {
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const AttentionShape& shape = this->shape;
    const RowIndex query = RowIndex::of(i, shape.query_heads, shape.query_rows);
    const RowRange keys = keys_of(shape, query.row);
    float sums[kMostHeadSize] = {};
    for (int64_t row = keys.begin; row < keys.end; ++row) {
      const RowIndex key{query.batch, query.head / (shape.query_heads / shape.key_heads), row};
      add(sums, this->weights(query, key).score, this->k + key.offset(this->layout.k),
          shape.head_size);
    }
    write(this->grad_q + query.offset(this->gradient_layout.q), sums, 1, shape.head_size);
  }
};

template <typename T>
struct BackwardOfKeys : Backward<T> {
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const AttentionShape& shape = this->shape;
    const RowIndex key = RowIndex::of(i, shape.key_heads, shape.key_rows);
    const RowRange queries = queries_of(shape, key.row);
    const int64_t group = shape.query_heads / shape.key_heads;
    float sums_k[kMostHeadSize] = {}, sums_v[kMostHeadSize] = {};
    for (int64_t head = key.head * group; head < (key.head + 1) * group; ++head) {
      for (int64_t row = queries.begin; row < queries.end; ++row) {
        const RowIndex query{key.batch, head, row};
        const auto weights = this->weights(query, key);
        add(sums_k, weights.score, this->q + query.offset(this->layout.q), shape.head_size);
        add(sums_v, weights.probability, this->grad_o + query.offset(this->gradient_layout.o),
            shape.head_size);
      }
    }
    write(this->grad_k + key.offset(this->gradient_layout.k), sums_k, 1, shape.head_size);
    write(this->grad_v + key.offset(this->gradient_layout.v), sums_v, 1, shape.head_size);
  }
};

template <typename Visit>
void visit_type(DType type, Visit visit) {
  switch (type) {
    case DType::kFp32:
      return visit(float{});
    case DType::kFp16:
      return visit(__half{});
    case DType::kBf16:
      return visit(__nv_bfloat16{});
  }
}

}  // namespace

void attend_by_rows(const AttentionShape& shape, const AttentionLayout& layout,
                    const AttentionOperands& operands, cudaStream_t stream, const char* where) {
  visit_type(shape.dtype, [&]<typename T>(T /*type*/) {
    parallel_for(shape.batch * shape.query_heads * shape.query_rows, stream, where,
                 Forward<T>{shape, layout, static_cast<const T*>(operands.q),
                            static_cast<const T*>(operands.k), static_cast<const T*>(operands.v),
                            static_cast<T*>(operands.o), operands.lse});
  });
}

void attend_back_by_rows(const AttentionShape& shape, const AttentionLayout& layout,
                         const AttentionLayout& gradients, const AttentionGradOperands& operands,
                         cudaStream_t stream, const char* where) {
  visit_type(shape.dtype, [&]<typename T>(T /*type*/) {
    const auto in = [](const void* data) { return static_cast<const T*>(data); };
    const auto out = [](void* data) { return static_cast<T*>(data); };
    const Backward<T> both{shape,
                           layout,
                           gradients,
                           in(operands.grad_o),
                           in(operands.q),
                           in(operands.k),
                           in(operands.v),
                           in(operands.o),
                           operands.lse,
                           out(operands.grad_q),
                           out(operands.grad_k),
                           out(operands.grad_v)};
    parallel_for(shape.batch * shape.query_heads * shape.query_rows, stream, where,
                 BackwardOfQueries<T>{both});
    parallel_for(shape.batch * shape.key_heads * shape.key_rows, stream, where,
                 BackwardOfKeys<T>{both});
  });
}

}  // namespace hirgen
