// Tests of elementwise kernels and reductions against loops on the host.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::BinaryFn;
using hirgen::ReduceFn;
using hirgen::Strided;
using hirgen::UnaryFn;

/// Expects for each element that |got - expected| <= tolerance * max(1, |expected|).
void expect_near(const std::vector<float>& got, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = tolerance * std::max(1.0, std::fabs(expected[i]));
    if (std::fabs(got[i] - expected[i]) <= bound) continue;
    return expect(false, what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                             ", not " + std::to_string(expected[i]));
  }
}

struct NamedUnary {
  const char* name;
  double (*value)(double);
};

const NamedUnary kUnary[] = {
    {"copy", [](double x) { return x; }},
    {"neg", [](double x) { return -x; }},
    {"relu", [](double x) { return std::max(x, 0.0); }},
    {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", [](double x) { return std::log(1 + std::exp(x)); }},
    {"abs", [](double x) { return std::abs(x); }},
    {"sign", [](double x) { return x > 0 ? 1.0 : -1.0; }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"ceil_pow2", [](double x) { return x > 0 ? std::exp2(std::ceil(std::log2(x))) : x; }},
    {"gelu_tanh",
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"relu_grad", [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"gelu_grad",
     [](double x) {
       return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
              x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
     }},
    {"silu_grad",
     [](double x) {
       const double s = 1 / (1 + std::exp(-x));
       return s * (1 + x * (1 - s));
     }},
    {"gelu_tanh_grad",
     [](double x) {
       const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
       return 0.5 * (1 + t) +
              0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
     }},
    {"scale(0.375)", [](double x) { return 0.375 * x; }},
    {"shift(-1.5e+0)", [](double x) { return x - 1.5; }},
    {"clamp_min(1.25)", [](double x) { return std::fmax(x, 1.25); }},
    {"clamp_max(1.25)", [](double x) { return std::fmin(x, 1.25); }},
};

/// The error of rounding to 8 bits (bf16) or 11 bits (fp16), or a few units in the last place
/// (fp32).
double tolerance_of(DType type) {
  return type == DType::kFp32 ? 1e-6 : type == DType::kFp16 ? 0x1p-11 : 0x1p-8;
}

/// Every function, for sizes with and without the vectorised kernel.
void test_unary_functions() {
  for (const DType type : kTypes) {
    for (const int64_t count : {64, 61}) {
      std::vector<float> values(static_cast<size_t>(count));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.0625F + 0.0625F * static_cast<float>(i % 40);  // exact in every type
      }
      const Elements in(type, values), out(type, count);
      const Strided view = row_major({count});
      for (const auto& [name, value] : kUnary) {
        hirgen::launch_unary(hirgen::unary_fn(name), out.get(), type, view, in.get(), type, view,
                             stream(), "test");
        std::vector<double> expected;
        for (const float x : values) expected.push_back(value(x));
        expect_near(out.read(), expected, tolerance_of(type), std::string(name));
      }
    }
  }
}

/// Copies keep all 256 codes of the 8-bit types, also infinities, which conversions do not produce.
void test_moves_of_8_bits() {
  for (const int64_t count : {256, 253}) {
    for (const DType type : {DType::kFp8E4m3, DType::kFp8E5m2}) {
      std::vector<uint8_t> codes(static_cast<size_t>(count)), moved(codes.size());
      std::iota(codes.begin(), codes.end(), uint8_t{0});
      const Elements in(type, count), out(type, count);
      HG_CHECK(
          cudaMemcpyAsync(in.get(), codes.data(), codes.size(), cudaMemcpyHostToDevice, stream()),
          "test");
      const Strided view = row_major({count});
      hirgen::launch_unary(UnaryFn::kCopy, out.get(), type, view, in.get(), type, view, stream(),
                           "test");
      HG_CHECK(
          cudaMemcpyAsync(moved.data(), out.get(), codes.size(), cudaMemcpyDeviceToHost, stream()),
          "test");
      HG_CHECK(cudaStreamSynchronize(stream()), "test");
      expect(moved == codes, "a move of 8 bits");
    }
  }
}

void test_nan_passes_through_relu_and_max() {
  const Elements in(DType::kFp32, 8), zeros(DType::kFp32, std::vector<float>(8, 0.0F));
  const Elements out(DType::kFp32, 8);
  const Strided view = row_major({8});
  const std::vector<float> nans = in.read();  // poisoned with NaN
  hirgen::launch_unary(UnaryFn::kRelu, out.get(), DType::kFp32, view, in.get(), DType::kFp32, view,
                       stream(), "test");
  expect_equal(out.read(), nans, "relu of NaN");
  for (const BinaryFn fn : {BinaryFn::kMax, BinaryFn::kMin}) {
    for (const bool first : {false, true}) {
      hirgen::launch_binary(fn, out.get(), DType::kFp32, view, (first ? in : zeros).get(), view,
                            (first ? zeros : in).get(), view, DType::kFp32, stream(), "test");
      expect_equal(out.read(), nans, "max or min with NaN");
    }
  }
}

void test_casts_round_to_nearest_even() {
  const std::vector<float> values = {1.0F,  1.00390625F, 1.01171875F, 65504.0F,
                                     1e-8F, -2.5F,       3.0F,        0.1F};
  const Strided view = row_major({8});
  for (const DType to : kTypes) {
    const Elements in(DType::kFp32, values), out(to, 8);
    hirgen::launch_unary(UnaryFn::kCopy, out.get(), to, view, in.get(), DType::kFp32, view,
                         stream(), "test");
    expect_equal(out.read(), rounded(to, values), "cast");
  }
  expect(rounded(DType::kBf16, values)[1] == 1.0F, "1 + 2^-8 is a tie, and 1 is even");
  expect(rounded(DType::kBf16, values)[2] == 1.015625F,
         "1 + 3 * 2^-8 is a tie, and 1 + 2^-6 is even");
}

/// Transposed matrices with elements of 1, 2 and 4 bytes: some that TransposeKernel splits into
/// squares, with or without groups of squares, and others.
void test_transposes() {
  for (const DType type : {DType::kBf16, DType::kFp32, DType::kFp8E4m3}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{64, 128},
                                        {128, 192},
                                        {48, 32},
                                        {16, 16},
                                        {40, 24},
                                        {6, 64}}) {
      const int64_t batch = 3, size = rows * columns;
      const std::vector<float> values = integers(static_cast<size_t>(batch * size), 1);
      const Elements in(type, values), out(type, batch * size);
      Strided transposed = row_major({batch, columns, rows});
      transposed.stride[1] = 1;
      transposed.stride[2] = columns;
      hirgen::launch_unary(UnaryFn::kCopy, out.get(), type, row_major({batch, columns, rows}),
                           in.get(), type, transposed, stream(), "test");
      std::vector<float> expected;
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t i = 0; i < columns; ++i) {
          for (int64_t j = 0; j < rows; ++j) {
            expected.push_back(values[static_cast<size_t>(b * size + j * columns + i)]);
          }
        }
      }
      expect_equal(out.read(), expected, "transpose of " + std::to_string(rows));
    }
  }
}

/// Fractions are dropped, numbers beyond the range are limited, and NaN is 0.
void test_casts_to_integers() {
  const std::vector<float> values = {1.75F, -2.5F, NAN, INFINITY, -INFINITY, 3e19F, -0.5F, 8.0F};
  const Strided view = row_major({8});
  for (const auto& [to, most] : {std::pair{DType::kInt32, 0x1p31F}, {DType::kInt64, 0x1p63F}}) {
    const Elements in(DType::kFp32, values), out(to, 8);
    hirgen::launch_unary(UnaryFn::kCopy, out.get(), to, view, in.get(), DType::kFp32, view,
                         stream(), "test");
    expect_equal(out.read(), {1, -2, 0, most, -most, most, 0, 8}, "cast to integers");
  }
}

/// A transpose, and a strided slice: the views that permute and Select make.
void test_copies_of_strided_views() {
  const std::vector<float> values = integers(6 * 16, 1);
  for (const DType type : kTypes) {
    const Elements in(type, values), out(type, 6 * 16);
    Strided transposed = row_major({16, 6});
    transposed.stride[0] = 1;
    transposed.stride[1] = 16;
    hirgen::launch_unary(UnaryFn::kCopy, out.get(), type, row_major({16, 6}), in.get(), type,
                         transposed, stream(), "test");
    std::vector<float> expected;
    for (size_t i = 0; i < 16; ++i) {
      for (size_t j = 0; j < 6; ++j) expected.push_back(values[j * 16 + i]);
    }
    expect_equal(out.read(), expected, "transpose");

    const Elements columns(type, 6 * 8);  // columns 8..15: vectorised, with a row stride
    Strided slice = row_major({6, 8});
    slice.stride[0] = 16;
    hirgen::launch_unary(UnaryFn::kCopy, columns.get(), type, row_major({6, 8}),
                         static_cast<char*>(in.get()) + 8 * size_of(type), type, slice, stream(),
                         "test");
    expected.clear();
    for (size_t i = 0; i < 6; ++i) {
      for (size_t j = 8; j < 16; ++j) expected.push_back(values[i * 16 + j]);
    }
    expect_equal(columns.read(), expected, "slice");
  }
}

float apply(BinaryFn fn, float a, float b) {
  switch (fn) {
    case BinaryFn::kAdd:
      return a + b;
    case BinaryFn::kSub:
      return a - b;
    case BinaryFn::kMul:
      return a * b;
    case BinaryFn::kDiv:
      return a / b;
    case BinaryFn::kMax:
      return std::max(a, b);
    case BinaryFn::kMin:
      return std::min(a, b);
    case BinaryFn::kGe:
      return a >= b ? 1 : 0;
    case BinaryFn::kGt:
      return a > b ? 1 : 0;
    case BinaryFn::kEq:
      return a == b ? 1 : 0;
    case BinaryFn::kKeep:
      return b != 0 ? a : 0;
    case BinaryFn::kDrop:
      return b == 0 ? a : 0;
    case BinaryFn::kMasked:
      return b != 0 ? a : -std::numeric_limits<float>::infinity();
  }
  return 0;
}

/// [5, n] with [5, n], [1, n], [5, 1] and [1, 1]. Accesses are vectorised if n is 16, the second
/// operand has n columns, and the first one is not offset by one element.
void test_binary_functions_broadcast() {
  for (const DType type : kTypes) {
    for (const int64_t n : {16, 9}) {
      for (const int64_t offset : {0, 1}) {
        const std::vector<float> a = integers(static_cast<size_t>(5 * n), 2);
        const std::vector<float> integer = integers(static_cast<size_t>(5 * n), 3);
        std::vector<float> nonzero = integer;
        for (float& x : nonzero) x = x == 0 ? 1 : x;
        const Elements left(type, a, offset), out(type, 5 * n);
        for (const int rows : {5, 1}) {
          for (const int64_t columns : {n, int64_t{1}}) {
            for (int fn = 0; fn < 12; ++fn) {
              const std::vector<float>& b =
                  static_cast<BinaryFn>(fn) == BinaryFn::kDiv ? nonzero : integer;
              const Elements right(type, b);
              hirgen::launch_binary(static_cast<BinaryFn>(fn), out.get(), type, row_major({5, n}),
                                    left.get(), row_major({5, n}), right.get(),
                                    row_major({rows, columns}), type, stream(), "test");
              std::vector<float> expected;
              for (int64_t i = 0; i < 5; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                  const int64_t at = (rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j);
                  expected.push_back(apply(static_cast<BinaryFn>(fn),
                                           a[static_cast<size_t>(i * n + j)],
                                           b[static_cast<size_t>(at)]));
                }
              }
              expect_equal(out.read(), rounded(type, expected), "binary " + std::to_string(fn));
            }
          }
        }
      }
    }
  }
}

/// Reduces axis `axis` of values[shape] on the host.
std::vector<float> reduced(ReduceFn fn, const std::vector<float>& values,
                           const std::vector<int64_t>& shape, size_t axis) {
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<float> result;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      float sum = 0;
      for (int64_t r = 0; r < shape[axis]; ++r) {
        const float x = values[static_cast<size_t>((o * shape[axis] + r) * inner + i)];
        const BinaryFn step[] = {BinaryFn::kAdd, BinaryFn::kMax, BinaryFn::kMin, BinaryFn::kMul};
        sum = r == 0 ? x : apply(step[static_cast<int>(fn)], sum, x);
      }
      result.push_back(sum);
    }
  }
  return result;
}

/// Every axis, for numbers of slices around the number that a thread reads at once.
void test_reductions() {
  for (const DType type : kTypes) {
    for (const int64_t count : {1, 3, 4, 8, 13}) {
      for (const int64_t inner : {24, 5}) {
        const std::vector<int64_t> shape = {count, 3, inner};
        const std::vector<float> values = integers(static_cast<size_t>(count * 3 * inner), 4);
        const Elements in(type, values);
        for (int axis = 0; axis < 3; ++axis) {
          std::vector<int64_t> out_shape = shape;
          out_shape[static_cast<size_t>(axis)] = 1;
          const int64_t elements = count * 3 * inner / shape[static_cast<size_t>(axis)];
          const Elements out(type, elements);
          for (int fn = 0; fn < 4; ++fn) {
            hirgen::launch_reduce(static_cast<ReduceFn>(fn), axis, out.get(), type,
                                  row_major(out_shape), in.get(), type, row_major(shape), stream(),
                                  "test");
            const auto expected =
                reduced(static_cast<ReduceFn>(fn), values, shape, static_cast<size_t>(axis));
            expect_equal(out.read(), rounded(type, expected), "reduce " + std::to_string(fn));
          }
        }
      }
    }
  }
}

/// Reductions of large tensors along each axis, with and without vectorised accesses. Threads and
/// blocks of a GPU share the few results of many slices.
void test_reductions_into_few_results() {
  const std::vector<std::vector<int64_t>> shapes = {{1000, 40},   {517, 7},   {4, 3000},
                                                    {3, 129, 16}, {70000, 1}, {1, 5000}};
  for (const DType type : kTypes) {
    for (const std::vector<int64_t>& shape : shapes) {
      int64_t elements = 1;
      for (const int64_t extent : shape) elements *= extent;
      std::vector<float> values = integers(static_cast<size_t>(elements), 6);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i % 16 == 3 ? values[i] : 0;
      const Elements in(type, values);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        std::vector<int64_t> out_shape = shape;
        out_shape[axis] = 1;
        const Elements out(type, elements / shape[axis]);
        for (const ReduceFn fn : {ReduceFn::kSum, ReduceFn::kMax, ReduceFn::kMin}) {
          hirgen::launch_reduce(fn, static_cast<int>(axis), out.get(), type, row_major(out_shape),
                                in.get(), type, row_major(shape), stream(), "test");
          expect_equal(out.read(), rounded(type, reduced(fn, values, shape, axis)),
                       "reduce along axis " + std::to_string(axis));
        }
      }
    }
  }
}

/// Slices that start off 16-byte boundaries, so that reads cannot be vectorised: by a stride of 12
/// elements of 16 bits, or by an offset of one element.
void test_reductions_of_unaligned_slices() {
  const std::vector<float> values = integers(4 * 12, 5);
  std::vector<float> expected;
  for (size_t j = 0; j < 8; ++j) {
    expected.push_back(values[j] + values[12 + j] + values[24 + j] + values[36 + j]);
  }
  Strided padded = row_major({4, 8});
  padded.stride[0] = 12;
  for (const DType type : kTypes) {
    for (const int64_t offset : {0, 1}) {
      const Elements in(type, values, offset), out(type, 8);
      hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), type, row_major({1, 8}), in.get(), type,
                            padded, stream(), "test");
      expect_equal(out.read(), expected, "sum of padded rows");
    }
    const Elements in(type, values, 1), out(type, 24);
    hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), type, row_major({1, 24}), in.get(), type,
                          row_major({2, 24}), stream(), "test");
    expect_equal(out.read(), reduced(ReduceFn::kSum, values, {2, 24}, 0), "sum off the boundary");
  }
}

/// 256 + 8 * 1 is 264 in bf16; adding the ones one at a time in bf16 would stay at 256.
void test_sums_are_fp32_and_rounded_once() {
  std::vector<float> values(9 * 8, 1.0F);
  std::fill(values.begin(), values.begin() + 8, 256.0F);
  const Elements in(DType::kBf16, values), out(DType::kBf16, 8);
  hirgen::launch_reduce(ReduceFn::kSum, 0, out.get(), DType::kBf16, row_major({1, 8}), in.get(),
                        DType::kBf16, row_major({9, 8}), stream(), "test");
  expect_equal(out.read(), std::vector<float>(8, 264.0F), "sum");
}

void test_misfits_are_errors() {
  bool threw = false;
  try {
    hirgen::launch_unary(UnaryFn::kCopy, nullptr, DType::kFp32, row_major({2, 2}), nullptr,
                         DType::kFp32, row_major({4}), stream(), "spec.yaml:3:1 copy");
  } catch (const hirgen::Error& error) {
    threw = std::string(error.what()).find("spec.yaml:3:1") != std::string::npos;
  }
  expect(threw, "views of different ranks are an error with a position");
  threw = false;
  try {
    hirgen::unary_fn("rule");
  } catch (const hirgen::Error&) {
    threw = true;
  }
  expect(threw, "an unknown function is an error");
}

void test_constants_of_all_sizes() {
  for (const auto& [spelling, want] : {std::pair<const char*, float>{"scale(0.125)", 0.125F},
                                       {"shift(-3)", -3.0F},
                                       {"scale(1e-40)", 0x1.16c2p-133F},
                                       {"scale(1e-45)", 0x1p-149F},
                                       {"shift(3.4028235e+38)", 0x1.fffffep+127F}}) {
    expect(hirgen::unary_fn(spelling).by == want, spelling);
  }
  for (const char* spelling : {"scale()", "scale(x)", "scale(1", "scale(1)x", "scale(1e60)"}) {
    bool threw = false;
    try {
      hirgen::unary_fn(spelling);
    } catch (const hirgen::Error&) {
      threw = true;
    }
    expect(threw, spelling);
  }
}

}  // namespace

int main() {
  return run(
      "math_kernels",
      {test_unary_functions, test_moves_of_8_bits, test_nan_passes_through_relu_and_max,
       test_casts_round_to_nearest_even, test_casts_to_integers, test_copies_of_strided_views,
       test_transposes, test_binary_functions_broadcast, test_reductions,
       test_reductions_into_few_results, test_reductions_of_unaligned_slices,
       test_sums_are_fp32_and_rounded_once, test_misfits_are_errors, test_constants_of_all_sizes});
}
