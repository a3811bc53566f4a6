#include "blaslt/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/element.hpp"

namespace hirgen_cpu {
namespace {

// A tile of the result stays in fp32 while blocks of k are added to it. kTile and kDepth are the
// largest sizes of a tiling. A block of A is packed into panels of kRows rows, and a block of B
// into panels of kColumns columns, in the order in which the innermost loop reads them. Panels are
// zero-filled at the edges.
constexpr int64_t kRows = 8, kColumns = 4;
constexpr int64_t kTile = 128, kDepth = 256;
static_assert(kTile % kRows == 0 && kTile % kColumns == 0);

using Quad __attribute__((vector_size(16), aligned(4), may_alias)) = float;

/// Calls body with a null pointer to the C++ type of an operand's elements.
template <class Body>
void with_operand_type(cudaDataType_t type, Body body) {
#define HIRGEN_CPU_CALL(element, nccl, cuda) \
  if (type == cuda) return body(static_cast<element*>(nullptr));
  HIRGEN_CPU_FLOATS(HIRGEN_CPU_CALL)
  HIRGEN_CPU_SHORTS(HIRGEN_CPU_CALL)
#undef HIRGEN_CPU_CALL
}

/// with_operand_type() for a result or a bias, which have no 8-bit types.
template <class Body>
void with_type(cudaDataType_t type, Body body) {
#define HIRGEN_CPU_CALL(element, nccl, cuda) \
  if (type == cuda) return body(static_cast<element*>(nullptr));
  HIRGEN_CPU_FLOATS(HIRGEN_CPU_CALL)
#undef HIRGEN_CPU_CALL
}

/// A block of a matrix: `count` lines (rows of A or columns of B) of `depth` elements along k.
/// Strides are in elements.
struct Lines {
  int64_t first, count, line_stride;
  int64_t first_depth, depth, depth_stride;
};

/// Packs a block as panels[line / kWidth][depth][line % kWidth], with zeros in place of missing
/// lines.
template <int64_t kWidth, class T>
void pack(const T* data, const Lines& lines, float* panels) {
  for (int64_t panel = 0; panel < lines.count; panel += kWidth) {
    int64_t width = std::min(kWidth, lines.count - panel);
    const T* corner =
        data + (lines.first + panel) * lines.line_stride + lines.first_depth * lines.depth_stride;
    for (int64_t p = 0; p < lines.depth; ++p, panels += kWidth) {
      const T* element = corner + p * lines.depth_stride;
      for (int64_t i = 0; i < width; ++i)
        panels[i] = static_cast<float>(element[i * lines.line_stride]);
      std::fill(panels + width, panels + kWidth, 0.0F);
    }
  }
}

/// tile[column][row] += panel of A times panel of B, for kRows rows and kColumns columns. Only this
/// thread accesses the panels and the tile, so sanitizers would find no error here and only slow
/// the loop down.
__attribute__((no_sanitize("thread", "address"))) void accumulate(const float* a, const float* b,
                                                                  int64_t depth, float* tile) {
  Quad sum[kColumns][2];
  for (int64_t j = 0; j < kColumns; ++j) {
    sum[j][0] = *reinterpret_cast<Quad*>(tile + j * kTile);
    sum[j][1] = *reinterpret_cast<Quad*>(tile + j * kTile + 4);
  }
  for (int64_t p = 0; p < depth; ++p, a += kRows, b += kColumns) {
    Quad low = *reinterpret_cast<const Quad*>(a), high = *reinterpret_cast<const Quad*>(a + 4);
    for (int64_t j = 0; j < kColumns; ++j) {
      sum[j][0] += low * b[j];
      sum[j][1] += high * b[j];
    }
  }
  for (int64_t j = 0; j < kColumns; ++j) {
    *reinterpret_cast<Quad*>(tile + j * kTile) = sum[j][0];
    *reinterpret_cast<Quad*>(tile + j * kTile + 4) = sum[j][1];
  }
}

struct Scratch {
  std::vector<float> a = std::vector<float>(kTile * kDepth);
  std::vector<float> b = std::vector<float>(kTile * kDepth);
  std::vector<float> tile = std::vector<float>(kTile * kTile);
};

/// A rectangle of the result.
struct Place {
  int64_t row, column, rows, columns;
};

/// Calls body with each tile of one batch, in the order of the tiling.
template <class Body>
void for_each_tile(const Gemm& p, Body body) {
  const int64_t tile = p.tiling.tile;
  const int64_t rows = (p.m + tile - 1) / tile, columns = (p.n + tile - 1) / tile;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t row = (p.tiling.rows_first ? i / columns : i % rows) * tile;
    const int64_t column = (p.tiling.rows_first ? i % columns : i / rows) * tile;
    body({row, column, std::min(tile, p.m - row), std::min(tile, p.n - column)});
  }
}

float activate(const Gemm& p, float value) {
  if (p.relu) return std::max(value, 0.0F);
  if (!p.gelu) return value;
  constexpr float kSqrtTwoOverPi = 0.7978845608028654F;
  return 0.5F * value *
         (1 + std::tanh(kSqrtTwoOverPi * (value + 0.044715F * value * value * value)));
}

std::vector<float> load_bias(const Gemm& p) {
  std::vector<float> bias(static_cast<size_t>(p.m));
  if (p.bias == nullptr) return bias;
  with_type(p.bias_type, [&](auto* type) {
    auto* source = static_cast<decltype(type)>(const_cast<void*>(p.bias));
    std::copy(source, source + p.m, bias.begin());
  });
  return bias;
}

template <class T>
void store_tile(const Gemm& p, const T* c, T* d, const Place& at, const float* tile,
                const std::vector<float>& bias) {
  for (int64_t j = 0; j < at.columns; ++j) {
    for (int64_t i = 0; i < at.rows; ++i) {
      int64_t row = at.row + i, column = at.column + j;
      float value = p.alpha * tile[j * kTile + i];
      if (p.beta != 0) {
        value += p.beta * static_cast<float>(c[row * p.c.row_stride + column * p.c.column_stride]);
      }
      value = activate(p, value + bias[static_cast<size_t>(row)]);
      d[row * p.d.row_stride + column * p.d.column_stride] = value;
    }
  }
}

/// Adds the tile's sum over elements `first` to `end` - 1 of k to scratch.tile.
void add_products(const Gemm& p, int64_t batch, const Place& at, int64_t first, int64_t end,
                  Scratch& scratch) {
  for (int64_t k = first; k < end; k += p.tiling.depth) {
    const int64_t depth = std::min(p.tiling.depth, end - k);
    with_operand_type(p.a.type, [&]<class A>(A*) {
      pack<kRows>(static_cast<const A*>(p.a.data) + batch * p.a.batch_stride,
                  {at.row, at.rows, p.a.row_stride, k, depth, p.a.column_stride}, scratch.a.data());
    });
    with_operand_type(p.b.type, [&]<class B>(B*) {
      pack<kColumns>(static_cast<const B*>(p.b.data) + batch * p.b.batch_stride,
                     {at.column, at.columns, p.b.column_stride, k, depth, p.b.row_stride},
                     scratch.b.data());
    });
    for (int64_t j = 0; j < at.columns; j += kColumns) {
      for (int64_t i = 0; i < at.rows; i += kRows) {
        accumulate(scratch.a.data() + i * depth, scratch.b.data() + j * depth, depth,
                   scratch.tile.data() + j * kTile + i);
      }
    }
  }
}

/// Computes one tile of A B in scratch.tile. With scales, multiplies the sum over each block along
/// k by the scales of A and B before it adds up these sums.
void compute_tile(const Gemm& p, int64_t batch, const Place& at, Scratch& scratch) {
  std::fill(scratch.tile.begin(), scratch.tile.end(), 0.0F);
  if (p.scales_a.data == nullptr) return add_products(p, batch, at, 0, p.k, scratch);
  std::vector<float> sum(scratch.tile.size());
  const int64_t depth = p.scales_a.depth;
  for (int64_t k = 0; k < p.k; k += depth) {
    std::fill(scratch.tile.begin(), scratch.tile.end(), 0.0F);
    add_products(p, batch, at, k, std::min(k + depth, p.k), scratch);
    for (int64_t j = 0; j < at.columns; ++j) {
      for (int64_t i = 0; i < at.rows; ++i) {
        const float scale =
            p.scales_a.at(at.row + i, k / depth) * p.scales_b.at(at.column + j, k / depth);
        const auto element = static_cast<size_t>(j * kTile + i);
        sum[element] += scale * scratch.tile[element];
      }
    }
  }
  scratch.tile.swap(sum);
}

}  // namespace

void multiply(const Gemm& gemm) {
  Scratch scratch;
  const std::vector<float> bias = load_bias(gemm);
  for (int64_t batch = 0; batch < gemm.batch; ++batch) {
    for_each_tile(gemm, [&](const Place& at) {
      compute_tile(gemm, batch, at, scratch);
      with_type(gemm.d.type, [&]<class Out>(Out*) {
        store_tile(gemm, static_cast<const Out*>(gemm.c.data) + batch * gemm.c.batch_stride,
                   static_cast<Out*>(gemm.d.data) + batch * gemm.d.batch_stride, at,
                   scratch.tile.data(), bias);
      });
    });
  }
}

}  // namespace hirgen_cpu
