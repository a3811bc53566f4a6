// Tests of the index arithmetic of attention around 2^31 and 2^32, with many batches of one row and
// one element. extents_kernels.cpp tests other kernels in the same way.
#include "attention/method.hpp"
#include "attention/products.hpp"
#include "attention/shape.hpp"
#include "attention/tiled.hpp"
#include "attention/tiled_backward.hpp"
#include "attention/tiles.hpp"
#include "attention/zeros.hpp"
#include "check/reference_attention.hpp"
#include "extents.hpp"
#include "hirgen/attention.hpp"

namespace copy {
namespace hirgen {
using namespace ::hirgen;
namespace reference {
using namespace ::hirgen::reference;
}
namespace tiles {
using namespace ::hirgen::tiles;
}
}  // namespace hirgen
#include "attention/tiled_forward.cu"
#include "attention/zeros.cu"
#include "check/reference_attention.cu"
}  // namespace copy

namespace {

using namespace math_test;
namespace reference = copy::hirgen::reference;
constexpr int64_t kLong = int64_t{1} << 33;

/// Tests BlockIndex, with which tiles_kernel counts; keys_of(), the keys that a query sees; and
/// queries_of(), the queries that see a key.
void test_blocks() {
  using hirgen::tiles::BlockIndex;
  constexpr int64_t kRows = hirgen::tiles::kBlockRows;
  for (const int64_t extent : long_numbers(21)) {
    if (extent < 1) continue;
    for (const std::vector<int64_t>& e : {std::vector<int64_t>{3, 2, extent}, {extent, 3, 70}}) {
      const std::vector<int64_t> grid = {e[0], e[1], (e[2] + kRows - 1) / kRows};
      const int64_t count = BlockIndex::count(e[0], e[1], e[2]);
      expect(Wide{grid[0]} * grid[1] * grid[2] == count, name_of("blocks of attention", extent));
      for (const int64_t block : {int64_t{0}, count / 2, count - 1}) {
        const auto got = BlockIndex::of(block, e[1], e[2]);
        const std::vector<Wide> at = unravel(block, grid);
        expect(got.batch == at[0] && got.head == at[1] && got.row == (grid[2] - 1 - at[2]) * kRows,
               name_of("block of attention", block));
      }
    }
    hirgen::AttentionShape shape{.query_rows = 5,
                                 .key_rows = extent + 5,
                                 .causal = true,
                                 .window = 4,
                                 .query_start = extent};
    const auto keys = hirgen::keys_of(shape, 2);
    expect(keys.end == Wide{extent} + 3 && keys.begin == keys.end - 4, name_of("keys", extent));
    const auto queries = hirgen::queries_of(shape, extent + 2);
    expect(queries.begin == 2 && queries.end == 5, name_of("queries", extent));
  }
}

/// A softmax over one key is 1, so O is V, and the gradient of V is the gradient of O.
void test_rows() {
  const Sparse<float> v(kLong), o(kLong), grad_o(kLong), grad_v(kLong), others(kLong);
  const reference::Attention shape{.batch = kLong, .dtype = DType::kFp32};
  const reference::ForwardRow forward{shape,        o.get(),      others.get(),
                                      others.get(), others.get(), v.get()};
  const reference::GradOfKey backward{
      shape,
      {grad_o.get(), others.get(), others.get(), others.get(), others.get(), others.get(),
       others.get(), others.get(), grad_v.get()}};
  const reference::GradOfQuery queries{shape,
                                       {grad_o.get(), others.get(), v.get(), v.get(), others.get(),
                                        others.get(), o.get(), others.get(), others.get()}};
  const hirgen::AttentionShape tiled{
      .batch = kLong, .query_rows = 1, .key_rows = 1, .head_size = 1, .dtype = DType::kFp32};
  const hirgen::AttentionStride dense{1, 1, 1};
  using Forward = copy::hirgen::tiles::Forward<float, 64>;
  const Forward tiles{
      tiled, {dense, dense, dense, dense}, others.get(), others.get(), v.get(), o.get(), nullptr,
      false};
  using Both = hirgen::tiles::Backward<float, 64>;
  const Both both{tiled,
                  {dense, dense, dense, dense},
                  {dense, dense, dense, dense},
                  grad_o.get(),
                  others.get(),
                  v.get(),
                  v.get(),
                  others.get(),
                  others.get(),
                  o.get(),
                  others.get(),
                  grad_v.get(),
                  others.get(),
                  false};
  const hirgen::tiles::BackwardOfQueries<float, 64> of_queries{both};
  const hirgen::tiles::BackwardOfKeys<float, 64> of_keys{both};
  std::vector<double> memory(size_t{1} << 17);
  const auto shared = reinterpret_cast<char*>(memory.data());
  for (const int64_t i : long_numbers(22, 20)) {
    if (i >= kLong) continue;
    expect_element(name_of("reference, attention", i), v[i], o[i], 3.0F, [&] { forward(i); });
    expect_element(name_of("reference, gradient of V", i), grad_o[i], grad_v[i], 3.0F,
                   [&] { backward(i); });
    grad_o[i] = 2;  // times V = 3 and K = 3 is 18
    expect_element(name_of("reference, gradient of Q", i), v[i], o[i], 18.0F, [&] { queries(i); });
    expect_element(name_of("gradient of Q", i), v[i], o[i], 18.0F, [&] { of_queries(i, shared); });
    grad_o[i] = 0;
    expect_element(name_of("gradient of V", i), grad_o[i], grad_v[i], 3.0F,
                   [&] { of_keys(i * of_keys.kParts, shared); });
    expect_element(name_of("attention", i), v[i], o[i], 3.0F, [&] { tiles(i, shared); });
  }
}

/// Tests Zeros, which clears the gradients of keys that no query sees.
void test_zeros() {
  const Sparse<uint16_t> data(3 * kLong);
  const copy::hirgen::Zeros zeros{data.get(), {3, 3, 3}, 1, 1, 2};
  for (const int64_t i : long_numbers(23)) {
    uint16_t& element = data[Wide{i} / 2 * 3 + i % 2];
    element = 1;
    zeros(i);
    expect(element == 0, name_of("cleared key", i));
  }
}

}  // namespace

int main() { return run("extents of attention", {test_blocks, test_rows, test_zeros}); }
