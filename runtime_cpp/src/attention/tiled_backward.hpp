// The two kernels of the gradient. In the first, a block computes the gradient of its queries, in a
// loop over the keys that they see. In the second, a block computes the gradients of its keys and
// values, in a loop over the queries that see them, in all heads that share the keys. So no two
// blocks add to the same element, and all runs return the same bits. Both recompute the
// probabilities, P = exp(scale Q K^T - lse), and
//
//   dS = P (dO V^T - rowsum(dO O)),  dQ = scale dS K,  dK = scale dS^T Q,  dV = P^T dO.
#pragma once

#include "attention/products.hpp"
#include "attention/tiles.hpp"

namespace hirgen::tiles {

/// The operands of both kernels.
template <typename T, int D>
struct Backward {
  AttentionShape shape;
  AttentionLayout layout, gradients;
  const T *grad_o, *q, *k, *v, *o;
  const float* lse;
  T *grad_q, *grad_k, *grad_v;
  float* means;  ///< rowsum(dO O), indexed as lse; the kernel of Q writes it, the other reads it
  bool aligned;

  HG_DEVICE int64_t query(int64_t batch, int64_t head) const {
    return (batch * shape.query_heads + head) * shape.query_rows;
  }
  template <typename E>
  HG_DEVICE GlobalRows<E> queries(E* data, const AttentionStride& stride, int64_t batch,
                                  int64_t head) const {
    return head_of(data, stride, batch, head, shape.query_rows, shape, aligned);
  }
  template <typename E>
  HG_DEVICE GlobalRows<E> keys(E* data, const AttentionStride& stride, int64_t batch,
                               int64_t head) const {
    return head_of(data, stride, batch, head, shape.key_rows, shape, aligned);
  }
  /// The probability of a score, where `log` is the log-sum-exp of the query's scores; 0 unless the
  /// query sees the key.
  HG_DEVICE float probability(float score, float log, bool seen) const {
    return seen ? exp2_of((score * shape.scale - log) * kLog2e) : 0.0F;
  }
};

/// The kernel that computes the gradient of Q.
template <typename T, int D>
struct BackwardOfQueries : Backward<T, D> {
  static constexpr int kKeys = D > 128 ? 32 : 64;
  static constexpr int kStages = sizeof(T) * D > 256 ? 1 : 2;
  using Queries = SharedRows<T, D, kBlockRows>;
  using Pairs = PairsOfRows<T, D, kKeys, kStages>;
  static constexpr size_t kBytes = 2 * Queries::kBytes + Pairs::kBytes;

  HG_DEVICE void operator()(int64_t block, char* memory) const {
    const AttentionShape& shape = this->shape;
    const auto at = BlockIndex::of(block, shape.query_heads, shape.query_rows);
    const int64_t key_head = at.head / (shape.query_heads / shape.key_heads);
    const auto keys = this->keys(this->k, this->layout.k, at.batch, key_head);
    const auto values = this->keys(this->v, this->layout.v, at.batch, key_head);
    const int64_t last = min_of(at.row + kBlockRows, shape.query_rows) - 1;
    const int64_t begin = keys_of(shape, at.row).begin / kKeys, end = keys_of(shape, last).end;

    const Queries queries{reinterpret_cast<T*>(memory)};
    const Queries backs{reinterpret_cast<T*>(memory + Queries::kBytes)};
    const auto back = this->queries(this->grad_o, this->gradients.o, at.batch, at.head);
    queries.request(this->queries(this->q, this->layout.q, at.batch, at.head), at.row);
    backs.request(back, at.row);
    const Pairs pairs{memory + 2 * Queries::kBytes};
    Rows rows(*this, at, back);
    Fragment<D> sums;
    sums.clear();
    pairs.walk((end + kKeys - 1) / kKeys - begin,
               [&](int64_t i) {
                 pairs.first(i).request(keys, (begin + i) * kKeys);
                 pairs.second(i).request(values, (begin + i) * kKeys);
               },
               [&](int64_t i) {
                 Fragment<kKeys> scores, products;
                 scores.clear();
                 products.clear();
                 multiply_transposed(scores, queries, warp() * kRows, pairs.first(i), keys.columns);
                 multiply_transposed(products, backs, warp() * kRows, pairs.second(i),
                                     keys.columns);
                 differentiate(rows, scores, products, (begin + i) * kKeys);
                 multiply(sums, scores, pairs.first(i), 0, keys.columns);
               });
    write_rows(this->queries(this->grad_q, this->gradients.q, at.batch, at.head), rows.row, 0,
               sums);
  }

 private:
  HG_DEVICE static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

  /// The log-sum-exp and rowsum(dO O) of each of a warp's rows. Also stores rowsum(dO O) in
  /// `means`.
  struct Rows {
    int64_t row;
    float log[kSlots], mean[kSlots];

    HG_DEVICE Rows(const BackwardOfQueries& all, const BlockIndex& at,
                   const GlobalRows<const T>& back)
        : row(at.row + warp() * kRows) {
      const auto forth = all.queries(all.o, all.layout.o, at.batch, at.head);
      const int64_t first = all.query(at.batch, at.head) + row;
      HG_UNROLL
      for (int slot = 0; slot < kSlots; ++slot) {
        const bool there = row + row_of(slot) < forth.rows;
        float sum = 0;
        for (int d = column_of(0); there && d < forth.columns; d += kThreadsOfRow * step()) {
          for (int j = d; j < d + step() && j < forth.columns; ++j) {
            sum += widen(back.at(row + row_of(slot))[j]) * widen(forth.at(row + row_of(slot))[j]);
          }
        }
        mean[slot] = sum_of_row(sum);
        log[slot] = there ? all.lse[first + row_of(slot)] : 0;
        if (there && column_of(0) == 0) all.means[first + row_of(slot)] = mean[slot];
      }
    }
    /// The number of adjacent columns of which a thread has elements.
    HG_DEVICE static constexpr int step() { return kThreadsOfRow == 1 ? 1 : 2; }
  };

  /// Replaces the scores by `scale` times their gradient. `products` is dO V^T, and `first` is the
  /// first key of the tile.
  HG_DEVICE void differentiate(const Rows& rows, Fragment<kKeys>& scores,
                               const Fragment<kKeys>& products, int64_t first) const {
    HG_UNROLL
    for (int slot = 0; slot < kSlots; ++slot) {
      const SeenColumns<kKeys> seen(keys_of(this->shape, rows.row + row_of(slot)), first);
      HG_UNROLL
      for (int j = 0; j < Fragment<kKeys>::kColumns; ++j) {
        float& score = scores.value[slot][j];
        const float p = this->probability(score, rows.log[slot], seen.has(column_of(j)));
        score = this->shape.scale * p * (products.value[slot][j] - rows.mean[slot]);
      }
    }
  }
};

/// The kernel that computes the gradients of K and V. A block computes `kColumns` of their columns,
/// since a long head does not fit into registers.
template <typename T, int D>
struct BackwardOfKeys : Backward<T, D> {
  static constexpr int kQueries = 32;
  static constexpr int kColumns = D > 128 ? 128 : D;
  static constexpr int kParts = D / kColumns;
  static constexpr int kStages = sizeof(T) * D > 256 ? 1 : 2;
  using Keys = SharedRows<T, D, kBlockRows>;
  using Pairs = PairsOfRows<T, D, kQueries, kStages>;
  static constexpr size_t kBytes = 2 * Keys::kBytes + Pairs::kBytes;

  HG_DEVICE void operator()(int64_t block, char* memory) const {
    const AttentionShape& shape = this->shape;
    const auto at = BlockIndex::of(block / kParts, shape.key_heads, shape.key_rows);
    const int column = static_cast<int>(block % kParts) * kColumns;
    const Keys keys{reinterpret_cast<T*>(memory)};
    const Keys values{reinterpret_cast<T*>(memory + Keys::kBytes)};
    keys.request(this->keys(this->k, this->layout.k, at.batch, at.head), at.row);
    values.request(this->keys(this->v, this->layout.v, at.batch, at.head), at.row);
    const Pairs pairs{memory + 2 * Keys::kBytes};
    const Walk walk(shape, at);
    const int depth = static_cast<int>(shape.head_size);
    const int64_t row = at.row + warp() * kRows;
    Fragment<kColumns> sums_k, sums_v;
    sums_k.clear();
    sums_v.clear();
    pairs.walk(
        walk.count(),
        [&](int64_t i) {
          const int64_t head = walk.head(i), first = walk.first(i);
          pairs.first(i).request(this->queries(this->q, this->layout.q, at.batch, head), first);
          pairs.second(i).request(this->queries(this->grad_o, this->gradients.o, at.batch, head),
                                  first);
        },
        [&](int64_t i) {
          Fragment<kQueries> scores, products;
          scores.clear();
          products.clear();
          multiply_transposed(scores, keys, warp() * kRows, pairs.first(i), depth);
          multiply_transposed(products, values, warp() * kRows, pairs.second(i), depth);
          differentiate(row, scores, products, this->query(at.batch, walk.head(i)), walk.first(i));
          multiply(sums_v, scores, pairs.second(i), column, depth);
          multiply(sums_k, products, pairs.first(i), column, depth);
        });
    write_rows(this->keys(this->grad_k, this->gradients.k, at.batch, at.head), row, column, sums_k);
    write_rows(this->keys(this->grad_v, this->gradients.v, at.batch, at.head), row, column, sums_v);
  }

 private:
  /// The tiles of queries that see the keys of a block, head by head.
  struct Walk {
    int64_t first_head, heads, begin, tiles;

    HG_DEVICE Walk(const AttentionShape& shape, const BlockIndex& at)
        : heads(shape.query_heads / shape.key_heads) {
      first_head = at.head * heads;
      const int64_t behind = at.row + kBlockRows;
      const int64_t last = (behind < shape.key_rows ? behind : shape.key_rows) - 1;
      begin = queries_of(shape, at.row).begin / kQueries;
      const int64_t end = queries_of(shape, last).end;
      tiles = end > begin * kQueries ? (end + kQueries - 1) / kQueries - begin : 0;
    }
    HG_DEVICE int64_t count() const { return heads * tiles; }
    HG_DEVICE int64_t head(int64_t i) const { return first_head + i / tiles; }
    HG_DEVICE int64_t first(int64_t i) const { return (begin + i % tiles) * kQueries; }
  };

  /// Replaces the scores by probabilities, and the products (V dO^T) by `scale` times the gradient
  /// of the scores. Here rows are keys, and columns are queries from `first` on; `query` is the
  /// index in lse of the first query of their head.
  HG_DEVICE void differentiate(int64_t row, Fragment<kQueries>& scores,
                               Fragment<kQueries>& products, int64_t query, int64_t first) const {
    using Columns = Fragment<kQueries>;
    float log[Columns::kColumns], mean[Columns::kColumns];
    HG_UNROLL
    for (int j = 0; j < Columns::kColumns; ++j) {
      const int64_t column = first + column_of(j);
      const bool there = column < this->shape.query_rows;
      log[j] = there ? this->lse[query + column] : 0;
      mean[j] = there ? this->means[query + column] : 0;
    }
    HG_UNROLL
    for (int slot = 0; slot < kSlots; ++slot) {
      const SeenColumns<kQueries> seen(queries_of(this->shape, row + row_of(slot)), first);
      HG_UNROLL
      for (int j = 0; j < Columns::kColumns; ++j) {
        const float p = this->probability(scores.value[slot][j], log[j], seen.has(column_of(j)));
        scores.value[slot][j] = p;
        products.value[slot][j] = this->shape.scale * p * (products.value[slot][j] - mean[j]);
      }
    }
  }
};

}  // namespace hirgen::tiles
