#include <cmath>

#include "check/reference_attention.hpp"
#include "hirgen/attention.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::reference {
namespace {

constexpr const char* kAttentionReference = "evaluate the reference";

HG_HOST_DEVICE inline float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

/// Writes sums, rounded, to a row of a result.
HG_HOST_DEVICE inline void write(const Attention& p, float* out, const float* sums) {
  for (int64_t c = 0; c < p.size; ++c) out[c] = round_to(p.dtype, sums[c]);
}

/// Returns the block of query row `row`. Here and below, `row` counts the query rows of all blocks,
/// batches and heads.
HG_HOST_DEVICE inline int64_t block_of(const Attention& p, int64_t row) {
  return row / (p.batch * p.query_heads * p.rows);
}

/// Returns whether query row `row` sees the key with index `key` (from 0) in its head.
HG_HOST_DEVICE inline bool sees(const Attention& p, int64_t row, int64_t key) {
  if (!p.kind.causal) return true;
  const int64_t behind = p.kind.split_heads ? 0 : p.blocks - 1 - block_of(p, row);
  const int64_t position = p.keys - (behind + 1) * p.rows + row % p.rows;
  return key <= position && (p.kind.window == 0 || key > position - p.kind.window);
}

/// Returns the number of query heads that share one key head; with split_heads, over all blocks.
HG_HOST_DEVICE inline int64_t share(const Attention& p) {
  return (p.kind.split_heads ? p.blocks : 1) * p.query_heads / p.key_heads;
}

/// Returns the index of a block's first query head among the heads of all blocks if blocks split
/// heads, else 0.
HG_HOST_DEVICE inline int64_t first_head(const Attention& p, int64_t block) {
  return p.kind.split_heads ? block * p.query_heads : 0;
}

/// Returns the first key row of the head that query row `row` uses, counted over all batches and
/// heads.
HG_HOST_DEVICE inline int64_t first_key(const Attention& p, int64_t row) {
  const int64_t head = row / p.rows % p.query_heads, batch = row / p.rows / p.query_heads % p.batch;
  return (batch * p.key_heads + (first_head(p, block_of(p, row)) + head) / share(p)) * p.keys;
}

struct ForwardRow {
  Attention p;
  float *o, *logs;
  const float *q, *k, *v;

  HG_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t first = first_key(p, row);
    float most = -INFINITY, total = 0;
    for (int64_t j = 0; j < p.keys; ++j) {
      if (sees(p, row, j)) most = fmaxf(most, score(row, first + j));
    }
    float sums[kMostHeadSize] = {};
    for (int64_t j = 0; j < p.keys; ++j) {
      if (!sees(p, row, j)) continue;
      const float weight = expf(score(row, first + j) - most);
      const float* value = v + (first + j) * p.size;
      total += weight;
      for (int64_t c = 0; c < p.size; ++c) sums[c] += weight * value[c];
    }
    for (int64_t c = 0; c < p.size; ++c) sums[c] /= total;
    write(p, o + row * p.size, sums);
    if (logs != nullptr) logs[row] = most + logf(total);
  }
  HG_HOST_DEVICE float score(int64_t row, int64_t key) const {
    return p.kind.scale * dot(q + row * p.size, k + key * p.size, p.size);
  }
};

/// The probability of a key, and the gradient with respect to the dot product of query and key.
struct Slope {
  float weight, score;
};

HG_HOST_DEVICE inline Slope slope_of(const Attention& p, const AttentionGrad& t, int64_t row,
                                     int64_t key) {
  const int64_t n = p.size;
  const float score = p.kind.scale * dot(t.q + row * n, t.k + key * n, n);
  const float weight = expf(score - t.logs[row]);
  const float along = dot(t.grad_o + row * n, t.o + row * n, n);
  const float own = dot(t.grad_o + row * n, t.v + key * n, n);
  return {weight, p.kind.scale * weight * (own - along)};
}

struct GradOfQuery {
  Attention p;
  AttentionGrad t;

  HG_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t first = first_key(p, row);
    float sums[kMostHeadSize] = {};
    for (int64_t j = 0; j < p.keys; ++j) {
      if (!sees(p, row, j)) continue;
      const Slope slope = slope_of(p, t, row, first + j);
      const float* key = t.k + (first + j) * p.size;
      for (int64_t c = 0; c < p.size; ++c) sums[c] += slope.score * key[c];
    }
    write(p, t.grad_q + row * p.size, sums);
  }
};

HG_HOST_DEVICE inline int64_t clamp(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

struct GradOfKey {
  Attention p;
  AttentionGrad t;

  /// `i` counts the keys of all heads, batches and blocks.
  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t heads = share(p), key = i % (p.batch * p.key_heads * p.keys);
    const int64_t block = i / (p.batch * p.key_heads * p.keys);
    const int64_t batch = key / p.keys / p.key_heads, head = key / p.keys % p.key_heads * heads;
    const int64_t own = first_head(p, block), begin = (block * p.batch + batch) * p.query_heads;
    const int64_t first = (begin + clamp(head - own, 0, p.query_heads)) * p.rows;
    const int64_t last = (begin + clamp(head + heads - own, 0, p.query_heads)) * p.rows;
    float of_k[kMostHeadSize] = {}, of_v[kMostHeadSize] = {};
    for (int64_t row = first; row < last; ++row) {
      if (!sees(p, row, key % p.keys)) continue;
      const Slope slope = slope_of(p, t, row, key);
      const float *query = t.q + row * p.size, *back = t.grad_o + row * p.size;
      for (int64_t c = 0; c < p.size; ++c) {
        of_k[c] += slope.score * query[c];
        of_v[c] += slope.weight * back[c];
      }
    }
    write(p, t.grad_k + i * p.size, of_k);
    write(p, t.grad_v + i * p.size, of_v);
  }
};

int64_t rows_of(const Attention& p) { return p.blocks * p.batch * p.query_heads * p.rows; }

}  // namespace

void attention(const Attention& shape, float* o, float* logs, const float* q, const float* k,
               const float* v, cudaStream_t stream) {
  parallel_for(rows_of(shape), stream, kAttentionReference, ForwardRow{shape, o, logs, q, k, v});
}

void attention_grad(const Attention& shape, const AttentionGrad& operands, cudaStream_t stream) {
  parallel_for(rows_of(shape), stream, kAttentionReference, GradOfQuery{shape, operands});
  parallel_for(shape.blocks * shape.batch * shape.key_heads * shape.keys, stream,
               kAttentionReference, GradOfKey{shape, operands});
}

}  // namespace hirgen::reference
