// A problem of attention: its operands on the host, and its results by loops over whole matrices in
// double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "hirgen/attention.hpp"
#include "test.hpp"

namespace math_test {

using hirgen::AttentionLayout;
using hirgen::AttentionShape;
using hirgen::AttentionStride;
using Numbers = std::vector<double>;

/// A dense tensor [batch, heads, rows, size] on the host, and its strides on the device.
struct Heads {
  int64_t heads, rows, size;
  AttentionStride stride;
  Numbers values;

  double& at(int64_t batch, int64_t head, int64_t row, int64_t d) {
    return values[static_cast<size_t>(((batch * heads + head) * rows + row) * size + d)];
  }
  /// Calls element(host element, buffer element) for each element. In the buffer, which may contain
  /// other tensors, this tensor begins at `first` and has the strides of `stride`.
  template <typename Element>
  void visit(int64_t batches, std::vector<float>& buffer, int64_t first, Element element) {
    for (int64_t b = 0; b < batches; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t d = 0; d < size; ++d) {
            const int64_t at = first + b * stride.batch + h * stride.head + r * stride.row + d;
            element(this->at(b, h, r, d), buffer[static_cast<size_t>(at)]);
          }
        }
      }
    }
  }
};

/// All operands of one attention, and its gradients. If `packed`, Q, K and V are adjacent in each
/// row of a buffer, as one GEMM computes them; otherwise they follow one another. Their gradients
/// have the same layout.
struct Problem {
  AttentionShape shape;
  bool packed;
  int64_t first;  ///< elements of each buffer before the first operand
  Heads q, k, v, o, grad_o, grad_q, grad_k, grad_v;
  Numbers lse;

  Problem(const AttentionShape& s, bool packed, int64_t first = 0)
      : shape(s), packed(packed), first(first) {
    q = grad_q = o = grad_o = heads(s.query_heads, s.query_rows);
    k = v = grad_k = grad_v = heads(s.key_heads, s.key_rows);
    o.stride = grad_o.stride = {s.query_heads * s.query_rows * s.head_size, s.head_size,
                                s.query_heads * s.head_size};
    unsigned salt = 1;
    for (Heads* one : {&q, &k, &v, &grad_o}) {
      const auto drawn = integers(one->values.size(), ++salt);
      for (size_t i = 0; i < drawn.size(); ++i) one->values[i] = drawn[i] / 4;
    }
  }

  AttentionLayout layout() const {
    AttentionLayout all{q.stride, k.stride, v.stride, o.stride};
    const auto aligned = [&](size_t size) {
      return std::gcd(first * static_cast<int64_t>(size), int64_t{16});
    };
    for (AttentionStride* one : {&all.q, &all.k, &all.v, &all.o}) {
      one->align = aligned(hirgen::size_of(shape.dtype));
    }
    all.align_lse = aligned(sizeof(float));
    return all;
  }
  /// The number of elements of a packed row; the starts of K and V in the buffer; and the number of
  /// elements of the buffer.
  int64_t row() const { return (shape.query_heads + 2 * shape.key_heads) * shape.head_size; }
  int64_t start_k() const {
    return packed ? shape.query_heads * shape.head_size : static_cast<int64_t>(q.values.size());
  }
  int64_t start_v() const {
    return start_k() +
           (packed ? shape.key_heads * shape.head_size : static_cast<int64_t>(k.values.size()));
  }
  int64_t elements() const {
    return packed ? shape.batch * shape.key_rows * row()
                  : start_v() + static_cast<int64_t>(v.values.size());
  }

 private:
  Heads heads(int64_t count, int64_t rows) const {
    const int64_t size = shape.head_size;
    const AttentionStride stride = packed ? AttentionStride{rows * row(), size, row()}
                                          : AttentionStride{count * rows * size, rows * size, size};
    return {count, rows, size, stride,
            Numbers(static_cast<size_t>(shape.batch * count * rows * size))};
  }
};

inline bool sees(const AttentionShape& s, int64_t query, int64_t key) {
  const int64_t position = s.query_start + query;
  return !s.causal || (key <= position && (s.window == 0 || key > position - s.window));
}

/// The probabilities of one query, and its log-sum-exp, which is -inf if the query sees no key.
inline Numbers probabilities(Problem& p, int64_t b, int64_t h, int64_t row, double& log_sum) {
  const AttentionShape& s = p.shape;
  Numbers scores(static_cast<size_t>(s.key_rows), -INFINITY);
  double most = -INFINITY, total = 0;
  for (int64_t j = 0; j < s.key_rows; ++j) {
    if (!sees(s, row, j)) continue;
    double& score = scores[static_cast<size_t>(j)] = 0;
    for (int64_t d = 0; d < s.head_size; ++d) {
      score += p.q.at(b, h, row, d) * p.k.at(b, h * s.key_heads / s.query_heads, j, d);
    }
    score *= s.scale;
    most = std::max(most, score);
  }
  for (double& score : scores) total += score = score == -INFINITY ? 0 : std::exp(score - most);
  for (double& score : scores) score /= total > 0 ? total : 1;
  log_sum = most + std::log(total);
  return scores;
}

/// Computes O, the log-sum-exps and all gradients.
inline void solve(Problem& p) {
  const AttentionShape& s = p.shape;
  p.lse.clear();
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.query_heads; ++h) {
      for (int64_t i = 0; i < s.query_rows; ++i) {
        const int64_t g = h * s.key_heads / s.query_heads;
        const Numbers weights = probabilities(p, b, h, i, p.lse.emplace_back());
        double mean = 0;
        for (int64_t d = 0; d < s.head_size; ++d) {
          double sum = 0;
          for (int64_t j = 0; j < s.key_rows; ++j) {
            sum += weights[static_cast<size_t>(j)] * p.v.at(b, g, j, d);
          }
          p.o.at(b, h, i, d) = sum;
          mean += p.grad_o.at(b, h, i, d) * sum;
        }
        for (int64_t j = 0; j < s.key_rows; ++j) {
          const double weight = weights[static_cast<size_t>(j)];
          double back = -mean;
          for (int64_t d = 0; d < s.head_size; ++d) {
            back += p.grad_o.at(b, h, i, d) * p.v.at(b, g, j, d);
            p.grad_v.at(b, g, j, d) += weight * p.grad_o.at(b, h, i, d);
          }
          for (int64_t d = 0; d < s.head_size; ++d) {
            p.grad_q.at(b, h, i, d) += s.scale * weight * back * p.k.at(b, g, j, d);
            p.grad_k.at(b, g, j, d) += s.scale * weight * back * p.q.at(b, h, i, d);
          }
        }
      }
    }
  }
}

}  // namespace math_test
