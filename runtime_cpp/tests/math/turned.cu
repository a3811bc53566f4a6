// Tests of kernels that transpose their operand while they quantize it. Results must have the same
// bits as those of the kernel that quantizes the rows of a transposed copy.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hirgen/columns.hpp"
#include "hirgen/turned.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
namespace fn = hirgen::fn;

/// The scale of a row, given the largest absolute value of the row.
template <typename X>
HG_HOST_DEVICE auto scale_of(const X& largest) {
  return largest * 0.002232143F + (fn::neg(fn::relu_grad(largest)) + 1.0F);
}

/// Quantizes rows of a transposed copy.
template <typename Out, typename In>
struct QuantizeRows {
  Out* Q;
  float* S;
  const In* X;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X);
    const float scale = scale_of(fn::max(row, fn::abs(x)));
    row.put(S, scale);
    row.store(Q, x / scale);
  }
};

template <typename In>
struct Largest {
  hirgen::Scattered<const In, 1> X;
  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    return fn::abs(row.load(X));
  }
};

/// Quantizes the columns of X where they lie.
template <typename Out, typename In>
struct QuantizeColumns {
  hirgen::Scattered<Out, 1> Q;
  hirgen::Scattered<float, 1> S;
  hirgen::Scattered<const In, 1> X;
  hirgen::Scattered<const float, 1> largest;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto scale = scale_of(row.value(largest));
    row.put(S, scale);
    row.store(Q, row.load(X) / scale);
  }
};

std::vector<uint8_t> bytes_of(const Elements& elements, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  HG_CHECK(
      cudaMemcpyAsync(bytes.data(), elements.get(), bytes.size(), cudaMemcpyDeviceToHost, stream()),
      "test");
  HG_CHECK(cudaStreamSynchronize(stream()), "test");
  return bytes;
}

/// Numbers of many sizes. Some rows of the transposed tensor are 0, or have infinities or NaN.
float number(int64_t row, int64_t column) {
  const auto hash = static_cast<uint32_t>(row * 7919 + column * 104729 + 13) * 2654435761U;
  const float x = static_cast<float>(hash >> 8) / (1 << 23) - 1.0F;
  if (row % 13 == 5) return row % 2 == 0 ? 0.0F : -0.0F;
  if (row % 17 == 3 && column % 11 == 4) return std::numeric_limits<float>::infinity();
  if (row % 19 == 7 && column % 5 == 3) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(x, static_cast<int>(hash % 11 + row % 7) - 12);
}

template <int64_t Columns, typename Out, typename In>
void test(int64_t rows, int64_t padding, int64_t offset) {
  const DType in_type = hirgen::dtype_of<In>(), out_type = hirgen::dtype_of<Out>();
  const int64_t count = rows * Columns, step = rows + padding;
  std::vector<float> transposed, stored(static_cast<size_t>(Columns * step));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < Columns; ++c) {
      transposed.push_back(number(r, c));
      stored[static_cast<size_t>(c * step + r)] = number(r, c);
    }
  }
  constexpr int64_t kUnused = 8;  // scales past the last row, which the kernels must not write
  const Elements copy(in_type, transposed), X(in_type, stored, offset);
  const Elements largest(DType::kFp32, std::vector<float>(static_cast<size_t>(rows + kUnused)));
  const Elements want(out_type, count), want_scales(DType::kFp32, rows + kUnused);
  const Elements got(out_type, count, offset), got_scales(DType::kFp32, rows + kUnused);
  const QuantizeRows<Out, In> in_rows{static_cast<Out*>(want.get()),
                                      static_cast<float*>(want_scales.get()),
                                      static_cast<const In*>(copy.get())};
  hirgen::launch_rows<Columns>(in_rows, {rows}, hirgen::accesses(in_rows.Q, in_rows.X), stream(),
                               "test");
  const auto* x = static_cast<const In*>(X.get());
  auto* const most = static_cast<float*>(largest.get());
  const Largest<In> folded{{x, {step, 1}}};
  hirgen::launch_columns<hirgen::ReduceFn::kMax, 1>(hirgen::Scattered<float, 1>{most, {0, 1}},
                                                    folded, rows, {Columns},
                                                    hirgen::accesses(folded.X), stream(), "test");
  const QuantizeColumns<Out, In> body{{static_cast<Out*>(got.get()), {Columns, 1}},
                                      {static_cast<float*>(got_scales.get()), {1, 0}},
                                      {x, {1, step}},
                                      {most, {1, 0}}};
  hirgen::launch_turned<Columns>(body, body.Q, body.X, {rows}, stream(), "test");
  const std::string of = std::to_string(rows) + " rows of " + std::to_string(Columns) +
                         " from type " + std::to_string(static_cast<int>(in_type)) + " to " +
                         std::to_string(static_cast<int>(out_type)) + ", " +
                         std::to_string(padding) + " elements apart, at " + std::to_string(offset);
  expect(bytes_of(got, count) == bytes_of(want, count), "quotients of " + of);
  expect_equal(got_scales.read(), want_scales.read(), "scales of " + of);
}

template <int64_t Columns, typename Out, typename In>
void test_rows() {
  for (const int64_t rows : {1, 8, 37, 64, 200, 1032}) {
    test<Columns, Out, In>(rows, 0, 0);
    test<Columns, Out, In>(rows, 8, 0);
    test<Columns, Out, In>(rows, 3, 0);
    test<Columns, Out, In>(rows, 0, 1);
  }
}

template <typename Out, typename In>
void test_types() {
  test_rows<1, Out, In>();
  test_rows<16, Out, In>();
  test_rows<133, Out, In>();
  test_rows<384, Out, In>();
}

template <typename In>
void test_from() {
  test_types<__nv_fp8_e4m3, In>();
  test_types<__nv_fp8_e5m2, In>();
}

}  // namespace

int main() {
  return run("math_turned", {test_from<__nv_bfloat16>, test_from<__half>, test_from<float>});
}
