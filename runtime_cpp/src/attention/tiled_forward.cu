// The forward kernel. A block has 16 query rows for each warp, and walks over the keys that these
// rows see. For the softmax it keeps each row's largest score and sum of exponentials.
#include "attention/products.hpp"
#include "attention/tiled.hpp"
#include "attention/tiles.hpp"

namespace hirgen {
namespace tiles {

template <typename T, int D>
struct Forward {
  static constexpr int kKeys = D > 128 ? 32 : 64;
  static constexpr int kStages = sizeof(T) * D > 512 ? 1 : 2;
  using Queries = SharedRows<T, D, kBlockRows>;
  using Pairs = PairsOfRows<T, D, kKeys, kStages>;
  static constexpr size_t kBytes = Queries::kBytes + Pairs::kBytes;

  AttentionShape shape;
  AttentionLayout layout;
  const T *q, *k, *v;
  T* o;
  float* lse;
  bool aligned;

  HG_DEVICE void operator()(int64_t block, char* memory) const {
    const auto at = BlockIndex::of(block, shape.query_heads, shape.query_rows);
    const int64_t key_head = at.head / (shape.query_heads / shape.key_heads);
    const auto head = [&](const T* data, const AttentionStride& stride, int64_t h, int64_t rows) {
      return head_of(data, stride, at.batch, h, rows, shape, aligned);
    };
    const auto keys = head(k, layout.k, key_head, shape.key_rows);
    const auto values = head(v, layout.v, key_head, shape.key_rows);
    const int64_t last = least(at.row + kBlockRows, shape.query_rows) - 1;
    const int64_t begin = keys_of(shape, at.row).begin / kKeys, end = keys_of(shape, last).end;

    const Queries queries{reinterpret_cast<T*>(memory)};
    queries.request(head(q, layout.q, at.head, shape.query_rows), at.row);
    const Pairs pairs{memory + Queries::kBytes};
    State state(at.row + warp() * kRows);
    pairs.walk((end + kKeys - 1) / kKeys - begin,
               [&](int64_t i) {
                 pairs.first(i).request(keys, (begin + i) * kKeys);
                 pairs.second(i).request(values, (begin + i) * kKeys);
               },
               [&](int64_t i) {
                 Fragment<kKeys> scores;
                 scores.clear();
                 multiply_transposed(scores, queries, warp() * kRows, pairs.first(i), keys.columns);
                 weigh(state, scores, (begin + i) * kKeys);
                 multiply(state.sums, scores, pairs.second(i), 0, keys.columns);
               });
    finish(state, at);
  }

 private:
  /// The state of a warp's rows, which start at `row`: the sums of weighted values, the largest
  /// score times scale and log2(e), and this thread's part of the sum of exponentials.
  struct State {
    int64_t row;
    Fragment<D> sums;
    float most[kSlots], total[kSlots];

    HG_DEVICE explicit State(int64_t row) : row(row) {
      sums.clear();
      HG_UNROLL
      for (int slot = 0; slot < kSlots; ++slot) {
        most[slot] = -INFINITY;
        total[slot] = 0;
      }
    }
  };

  HG_DEVICE static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

  /// Turns the scores of keys from `first` on into weights: exponentials of the difference to the
  /// row's largest score so far. Rescales the earlier sums to that score. finish() divides by the
  /// sum of the weights.
  HG_DEVICE void weigh(State& state, Fragment<kKeys>& scores, int64_t first) const {
    HG_UNROLL
    for (int slot = 0; slot < kSlots; ++slot) {
      const SeenColumns<kKeys> seen(keys_of(shape, state.row + row_of(slot)), first);
      scores.scale(slot, shape.scale * kLog2e);
      if (!seen.all()) {
        HG_UNROLL
        for (int j = 0; j < Fragment<kKeys>::kColumns; ++j) {
          if (!seen.has(column_of(j))) scores.value[slot][j] = -INFINITY;
        }
      }
      const float before = state.most[slot], most = fmaxf(before, scores.most(slot));
      const float base = most == -INFINITY ? 0 : most;  // -INFINITY: the row has seen no key
      HG_UNROLL
      for (int j = 0; j < Fragment<kKeys>::kColumns; ++j) {
        scores.value[slot][j] = exp2_of(scores.value[slot][j] - base);
      }
      const float shrink = exp2_of(before - base);
      state.most[slot] = most;
      state.total[slot] = state.total[slot] * shrink + scores.sum(slot);
      state.sums.scale(slot, shrink);
    }
  }

  HG_DEVICE void finish(State& state, const BlockIndex& at) const {
    HG_UNROLL
    for (int slot = 0; slot < kSlots; ++slot) {
      const float total = sum_of_row(state.total[slot]);
      const int64_t row = state.row + row_of(slot);
      state.sums.scale(slot, state.most[slot] == -INFINITY ? 0 : 1 / total);
      if (lse == nullptr || row >= shape.query_rows || column_of(0) != 0) continue;
      lse[(at.batch * shape.query_heads + at.head) * shape.query_rows + row] =
          state.most[slot] / kLog2e + logf(total);
    }
    write_rows(head_of(o, layout.o, at.batch, at.head, shape.query_rows, shape, aligned), state.row,
               0, state.sums);
  }
};

}  // namespace tiles

AttentionMethod<AttentionProblem> plan_by_tiles(const AttentionProblem& problem,
                                                const char* where) {
  const auto& [shape, layout] = problem;
  const bool aligned = aligned_rows(shape, layout.q) && aligned_rows(shape, layout.k) &&
                       aligned_rows(shape, layout.v);
  AttentionMethod<AttentionProblem> method{"tiled", 0, {}};
  tiles::visit_kernels(shape, [&]<typename T, int D>(T, std::integral_constant<int, D>) {
    using Kernel = tiles::Forward<T, D>;
    tiles::prepare_tiles<Kernel>(where);
    method.run = [shape, layout, aligned](const AttentionOperands& x, void* /*workspace*/,
                                          cudaStream_t stream, const char* where) {
      const Kernel kernel{shape,
                          layout,
                          static_cast<const T*>(x.q),
                          static_cast<const T*>(x.k),
                          static_cast<const T*>(x.v),
                          static_cast<T*>(x.o),
                          x.lse,
                          aligned};
      tiles::launch_tiles(
          kernel, tiles::BlockIndex::count(shape.batch, shape.query_heads, shape.query_rows),
          stream, where);
    };
  });
  return method;
}

}  // namespace hirgen
