// Tests of the reference with which programs are checked, operation by operation, against loops on
// the host.
#include <cmath>
#include <vector>

#include "hirgen/reference_device.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Axis;
using hirgen::DeviceReference;
using hirgen::TensorDesc;
using Shape = hirgen::Reference::Shape;

size_t index(int64_t i) { return static_cast<size_t>(i); }

int64_t elements_of(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

/// A reference with inputs uploaded as from a user's file.
class Fixture {
 public:
  explicit Fixture(int ranks = 0) : reference(stream(), ranks) {}

  std::vector<float> input(const char* name, const Shape& shape, DType type = DType::kFp32) {
    TensorDesc desc;
    desc.name = name;
    desc.dtype = type;
    for (const int64_t extent : shape) desc.axes.push_back(Axis{extent, 1, 0});
    const std::vector<float> values = integers(index(desc.elements()), salt_++);
    const Elements elements(type, values);
    std::vector<char> bytes(index(desc.elements()) * size_of(type));
    HG_CHECK(cudaMemcpyAsync(bytes.data(), elements.get(), bytes.size(), cudaMemcpyDeviceToHost,
                             stream()),
             "test");
    HG_CHECK(cudaStreamSynchronize(stream()), "test");
    reference.upload(desc, bytes.data());
    return values;
  }

  void expect_tensor(const char* name, const Shape& shape, const std::vector<float>& values) {
    expect(reference.shape(name) == shape, std::string(name) + " has another shape");
    std::vector<float> got(index(elements_of(reference.shape(name))));
    HG_CHECK(cudaMemcpyAsync(got.data(), reference.data(name), got.size() * sizeof(float),
                             cudaMemcpyDeviceToHost, stream()),
             "test");
    HG_CHECK(cudaStreamSynchronize(stream()), "test");
    expect_equal(got, values, name);
  }

  DeviceReference reference;

 private:
  unsigned salt_ = 1;
};

/// a[rows, k] times b[k, n], or times the transpose of b[n, k] if `transposed`; plus bias[n],
/// unless it is null.
std::vector<float> matmul_of(const float* a, const float* b, int64_t rows, int64_t n, int64_t k,
                             bool transposed, const float* bias) {
  std::vector<float> c;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = bias == nullptr ? 0 : bias[j];
      for (int64_t r = 0; r < k; ++r) sum += a[i * k + r] * b[transposed ? j * k + r : r * n + j];
      c.push_back(sum);
    }
  }
  return c;
}

/// Extents that are not multiples of the kernel's tiles, in fp32 and rounded to bf16.
void test_matmul() {
  Fixture f;
  const auto a = f.input("A", {3, 23, 70});
  const auto b = f.input("B", {70, 45});
  f.reference.matmul("C", "A", "B", DType::kFp32);
  f.expect_tensor("C", {3, 23, 45}, matmul_of(a.data(), b.data(), 69, 45, 70, false, nullptr));
  f.reference.matmul("D", "A", "B", DType::kBf16);
  f.expect_tensor("D", {3, 23, 45},
                  rounded(DType::kBf16, matmul_of(a.data(), b.data(), 69, 45, 70, false, nullptr)));
}

void test_batched_matmul() {
  Fixture f;
  const auto a = f.input("A", {2, 33, 40});
  const auto b = f.input("B", {2, 40, 64});
  f.reference.matmul("C", "A", "B", DType::kFp32);
  std::vector<float> expected = matmul_of(a.data(), b.data(), 33, 64, 40, false, nullptr);
  const auto second = matmul_of(a.data() + 33 * 40, b.data() + 40 * 64, 33, 64, 40, false, nullptr);
  expected.insert(expected.end(), second.begin(), second.end());
  f.expect_tensor("C", {2, 33, 64}, expected);
}

/// Batch axes are broadcast: [2, 1, m, k] times the transpose of [3, n, k] is [2, 3, m, n].
void test_batches_stretch() {
  Fixture f;
  const auto a = f.input("A", {2, 1, 5, 7});
  const auto w = f.input("W", {3, 4, 7});
  const auto bias = f.input("bias", {3, 4});
  f.reference.linear("Y", "A", "W", "bias", DType::kFp32);
  std::vector<float> expected;
  for (int64_t i = 0; i < 6; ++i) {
    const auto block = matmul_of(a.data() + i / 3 * 35, w.data() + i % 3 * 28, 5, 4, 7, true,
                                 bias.data() + i % 3 * 4);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  f.expect_tensor("Y", {2, 3, 5, 4}, expected);
}

void test_linear() {
  Fixture f;
  const auto x = f.input("X", {2, 17, 50}, DType::kFp16);
  const auto w = f.input("W", {35, 50}, DType::kFp16);
  const auto bias = f.input("bias", {35}, DType::kFp16);
  f.reference.linear("Y", "X", "W", "bias", DType::kFp32);
  f.expect_tensor("Y", {2, 17, 35}, matmul_of(x.data(), w.data(), 34, 35, 50, true, bias.data()));
  f.reference.linear("Z", "X", "W", nullptr, DType::kFp32);
  f.expect_tensor("Z", {2, 17, 35}, matmul_of(x.data(), w.data(), 34, 35, 50, true, nullptr));
}

void test_shape_operations() {
  Fixture f;
  const auto a = f.input("A", {4, 3, 5}, DType::kBf16);
  f.reference.set("S", "A");
  f.expect_tensor("S", {4, 3, 5}, a);
  f.reference.broadcast("B", "A", 1);
  f.expect_tensor("B", {4, 1, 3, 5}, a);
  f.reference.reshape("R", "A", {12, 5});
  f.expect_tensor("R", {12, 5}, a);
  f.reference.permute("P", "A", {2, 0, 1});
  std::vector<float> permuted;
  for (size_t k = 0; k < 5; ++k) {
    for (size_t i = 0; i < 12; ++i) permuted.push_back(a[i * 5 + k]);
  }
  f.expect_tensor("P", {5, 4, 3}, permuted);
}

void test_elementwise_operations() {
  Fixture f;
  const auto a = f.input("A", {4, 3, 5});
  const auto b = f.input("B", {3, 1});
  f.reference.binary("C", "sub", "A", "B", DType::kFp32);
  std::vector<float> expected;
  for (size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] - b[i / 5 % 3]);
  f.expect_tensor("C", {4, 3, 5}, expected);
  f.reference.unary("D", "relu", "A", DType::kFp32);
  expected = a;
  for (float& x : expected) x = x < 0 ? 0 : x;
  f.expect_tensor("D", {4, 3, 5}, expected);
  f.reference.unary("E", "exp", "A", DType::kFp32);
  f.reference.cast("F", "E", DType::kBf16);
  f.reference.unary("G", "exp", "A", DType::kBf16);
  std::vector<float> rounded_later(a.size());
  HG_CHECK(cudaMemcpyAsync(rounded_later.data(), f.reference.data("F"), a.size() * sizeof(float),
                           cudaMemcpyDeviceToHost, stream()),
           "test");
  HG_CHECK(cudaStreamSynchronize(stream()), "test");
  f.expect_tensor("G", {4, 3, 5}, rounded_later);
}

void test_reductions_drop_their_axis() {
  Fixture f;
  const auto a = f.input("A", {4, 3, 5});
  f.reference.reduce("S", "sum", "A", 1, DType::kFp32);
  f.reference.reduce("M", "max", "A", 1, DType::kFp32);
  std::vector<float> sums, maxima;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t k = 0; k < 5; ++k) {
      const float x = a[i * 15 + k], y = a[i * 15 + 5 + k], z = a[i * 15 + 10 + k];
      sums.push_back(x + y + z);
      maxima.push_back(std::max(x, std::max(y, z)));
    }
  }
  f.expect_tensor("S", {4, 5}, sums);
  f.expect_tensor("M", {4, 5}, maxima);
}

/// A second check defines every name again, including aliases, and must see new values.
void test_names_can_be_defined_again() {
  Fixture f;
  const auto first = f.input("A", {8, 8});
  f.reference.set("S", "A");
  f.reference.unary("N", "neg", "S", DType::kFp32);
  auto again = f.input("A", {8, 8});
  f.expect_tensor("S", {8, 8}, first);
  f.reference.set("S", "A");
  f.expect_tensor("S", {8, 8}, again);
  f.reference.unary("N", "neg", "S", DType::kFp32);
  for (float& x : again) x = -x;
  f.expect_tensor("N", {8, 8}, again);
}

/// The reference generates the values with which a rank fills its tensor.
void test_generated_inputs() {
  TensorDesc desc;
  desc.name = "A";
  desc.dtype = DType::kBf16;
  desc.axes = {Axis{2, 1, 0}, Axis{8, 1, 0}, Axis{16, 1, 0}};
  desc.contraction = 64;
  Fixture f;
  const Elements local(desc.dtype, desc.elements());
  f.reference.generate_integers(desc, 2, 11);
  hirgen::fill_integers(local.get(), desc, 2, 11, stream());
  f.expect_tensor("A", {2, 8, 16}, local.read());
  f.reference.generate_normal(desc, 2, 11);
  hirgen::fill_normal(local.get(), desc, 2, 11, stream());
  f.expect_tensor("A", {2, 8, 16}, local.read());
}

/// Generates an input [2 heads, 4 rows, 8] of normal values.
void normal(Fixture& f, const char* name, int index) {
  TensorDesc desc;
  desc.name = name;
  desc.axes = {Axis{2, 1, 0}, Axis{4, 1, 0}, Axis{8, 1, 0}};
  f.reference.generate_normal(desc, index, 5);
}

/// Defines O<window>, dQ<window> and so on ("O3", "dQ3") for queries that see at most `window`
/// keys.
void attend(Fixture& f, int64_t window) {
  const auto name = [&](const char* tensor) { return tensor + std::to_string(window); };
  const std::string o = name("O"), l = name("L"), q = name("dQ"), k = name("dK"), v = name("dV");
  const hirgen::AttentionKind kind{.causal = true, .window = window, .scale = 0.35F};
  f.reference.attention(o.c_str(), l.c_str(), kind, "Q", "K", "V", DType::kFp32);
  f.reference.attention_grad({q.c_str(), k.c_str(), v.c_str()}, kind, "dO", "Q", "K", "V",
                             o.c_str(), l.c_str(), DType::kFp32);
}

void attention_inputs(Fixture& f) {
  int index = 0;
  for (const char* name : {"Q", "K", "V", "dO"}) normal(f, name, index++);
}

std::vector<float> read(const float* device, size_t n) {
  std::vector<float> host(n);
  HG_CHECK(
      cudaMemcpyAsync(host.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost, stream()),
      "test");
  HG_CHECK(cudaStreamSynchronize(stream()), "test");
  return host;
}

/// The bounds of an attention depend on the terms of its sums, even if these cancel.
void test_terms_that_cancel() {
  Fixture f(1);
  attention_inputs(f);
  attend(f, 1);
  for (const char* name : {"dQ1", "dK1"}) {
    f.expect_tensor(name, {2, 4, 8}, std::vector<float>(64));
    for (const float bound : read(f.reference.bounds(name, DType::kFp32), 64)) {
      expect(bound > 1e-7 && bound < 1e-4, std::string(name) + ": " + std::to_string(bound));
    }
  }
  expect(f.reference.bounds("Q", DType::kFp32) == nullptr, "no rounding shows in an input");
}

/// If a key is missing for the last query of a head, all elements of O, L, dQ, dK and dV that
/// depend on that query are off by more than their bounds.
void test_a_missing_key_is_found() {
  Fixture f(1);
  attention_inputs(f);
  attend(f, 3);
  attend(f, 4);
  for (const std::string name : {"O", "L", "dQ", "dK", "dV"}) {
    TensorDesc desc;
    for (const int64_t extent : f.reference.shape(name + "4")) desc.axes.push_back({extent, 1, 0});
    const auto wrong =
        hirgen::count_wrong(f.reference.data(name + "3"), desc, f.reference.data(name + "4"),
                            f.reference.bounds(name + "4", DType::kFp32), stream());
    const int64_t rows = name == "dK" || name == "dV" ? 8 : 2, row = name == "L" ? 1 : 8;
    expect(wrong.count == rows * row,
           name + ": " + std::to_string(wrong.count) + " elements lack a key");
  }
}

/// Partial sums may be rounded to the type of the operands before the ranks add them, also if the
/// result is fp32.
void test_bounds_of_sums_of_bf16() {
  Fixture f(2);
  TensorDesc desc;
  desc.axes = {Axis{4, 1, 0}, Axis{16, 1, 0}};
  desc.name = "A";
  f.reference.generate_normal(desc, 0, 5);
  f.reference.cast("X", "A", DType::kBf16);
  f.reference.cast("W", "X", DType::kFp32);
  f.reference.reduce("narrow", "sum", "X", 1, DType::kFp32);
  f.reference.reduce("wide", "sum", "W", 1, DType::kFp32);
  f.reference.linear("P", "X", "X", nullptr, DType::kFp32);
  f.reference.linear("Q", "W", "W", nullptr, DType::kFp32);
  for (const auto& [narrow, wide] : {std::pair{"narrow", "wide"}, std::pair{"P", "Q"}}) {
    const auto bounds = read(f.reference.bounds(narrow, DType::kFp32), 4);
    const auto others = read(f.reference.bounds(wide, DType::kFp32), 4);
    for (size_t i = 0; i < bounds.size(); ++i) {
      expect(bounds[i] > others[i], std::string(narrow) + " " + std::to_string(bounds[i]));
    }
  }
}

/// The bound of a product of fp8 numbers is about the bound of the same numbers in bf16, since
/// partial sums do not round to fp8.
void test_bounds_of_products_of_fp8() {
  Fixture f(2);
  f.input("A", {4, 16});
  f.reference.cast("X", "A", DType::kFp8E4m3);
  f.reference.cast("W", "A", DType::kBf16);
  f.reference.linear("P", "X", "X", nullptr, DType::kBf16);
  f.reference.linear("Q", "W", "W", nullptr, DType::kBf16);
  const auto bounds = read(f.reference.bounds("P", DType::kBf16), 16);
  const auto others = read(f.reference.bounds("Q", DType::kBf16), 16);
  for (size_t i = 0; i < bounds.size(); ++i) {
    expect(bounds[i] < 1.5F * others[i] + 1e-6F, "fp8 " + std::to_string(bounds[i]));
  }
}

/// The bound of one bf16 rounding is 0.5 to 1.01 times 1/64 of the element, also after a concat;
/// without rounding it is 0. After sums it is 0.01 to 0.5 of the element.
void test_bounds_of_operations() {
  const Shape shape = {4, 16};
  Fixture f(2);
  TensorDesc desc;
  desc.axes = {Axis{4, 1, 0}, Axis{16, 1, 0}};
  int index = 0;
  for (const char* name : {"A", "B"}) {
    desc.name = name;
    f.reference.generate_normal(desc, index++, 5);
  }
  f.reference.binary("M", "mul", "A", "B", DType::kBf16);
  f.reference.linear("P", "M", "B", nullptr, DType::kBf16);
  f.reference.unary("Q", "scale(0.25)", "P", DType::kBf16);
  f.reference.unary("E", "exp", "Q", DType::kBf16);
  f.reference.reduce("S", "sum", "E", 1, DType::kBf16);
  f.reference.unary("R", "reciprocal", "S", DType::kFp32);
  f.reference.permute("T", "P", {1, 0});
  f.reference.concat("C", {"A", "M"}, 0);
  const auto relative = [&](const char* name, size_t n, size_t i) {
    return read(f.reference.bounds(name, DType::kFp32), n)[i] /
           std::fabs(read(f.reference.data(name), n)[i]);
  };
  for (size_t i = 0; i < 64; ++i) {
    const double one = relative("M", 64, i) * 64, moved = relative("C", 128, 64 + i) * 64;
    expect(one > 0.5 && one < 1.01, "one rounding: " + std::to_string(one));
    expect(read(f.reference.bounds("C", DType::kFp32), 128)[i] == 0, "no rounding");
    expect(moved > 0.5 && moved < 1.01, "one rounding, moved: " + std::to_string(moved));
  }
  for (size_t i = 0; i < 4; ++i) {
    const double sums = relative("R", 4, i);
    expect(sums > 0.01 && sums < 0.5, "after sums: " + std::to_string(sums));
  }
}

/// Sums and products of integers below 2^24 have no error, so a row number that is computed from
/// them is certain. Fractions and larger integers may have an error.
void test_bounds_of_integers() {
  Fixture f(2);
  const std::vector<float> values = f.input("I", {16});
  f.reference.unary("twice", "scale(2)", "I", DType::kFp32);
  f.reference.binary("sum", "add", "twice", "I", DType::kFp32);
  f.reference.unary("number", "copy", "sum", DType::kInt32);
  f.reference.unary("half", "scale(0.5)", "I", DType::kFp32);
  f.reference.unary("large", "scale(16777216)", "I", DType::kFp32);
  const auto bounds = [&](const char* name) {
    return read(f.reference.bounds(name, DType::kFp32), 16);
  };
  for (const char* name : {"twice", "sum", "number"}) {
    for (const float bound : bounds(name)) {
      expect(bound == 0, std::string(name) + ": " + std::to_string(bound));
    }
  }
  const std::vector<float> half = bounds("half"), large = bounds("large");
  for (size_t i = 0; i < values.size(); ++i) {
    expect(values[i] == 0 || half[i] > 0, "the constant is no integer");
    expect(values[i] == 0 || large[i] > 0, "the product is 2^24 or more");
  }
}

/// A value that may overflow has an infinite bound, and so have all results computed from it, even
/// if they are NaN.
void test_bounds_of_overflow() {
  Fixture f(2);
  normal(f, "A", 0);
  f.reference.unary("X", "scale(1e+8)", "A", DType::kFp16);
  f.reference.binary("N", "sub", "X", "X", DType::kFp32);
  f.reference.unary("cos", "cos", "N", DType::kFp32);
  f.reference.unary("scale", "scale(2)", "N", DType::kFp32);
  f.reference.binary("mul", "mul", "N", "A", DType::kFp32);
  f.reference.binary("sub", "sub", "N", "X", DType::kFp32);
  f.reference.binary("div", "div", "X", "X", DType::kFp32);
  f.reference.reduce("max", "max", "N", 2, DType::kFp32);
  f.reference.reduce("sum", "sum", "N", 2, DType::kFp32);
  f.reference.attention("attention", "logs", {.scale = 1}, "N", "A", "A", DType::kFp32);
  for (const char* name : {"N", "cos", "scale", "mul", "sub", "div", "max", "sum", "attention"}) {
    expect(std::isnan(read(f.reference.data(name), 8)[0]), std::string(name) + " is NaN");
    for (const float bound : read(f.reference.bounds(name, DType::kFp32), 8)) {
      expect(bound == INFINITY, std::string(name) + ": " + std::to_string(bound));
    }
  }
}

/// The cosine of an angle that is off by more than a quarter turn may be anything from -1 to 1.
void test_bounds_of_angles() {
  Fixture f(2);
  normal(f, "A", 0);
  f.reference.unary("X", "scale(1e+6)", "A", DType::kBf16);
  f.reference.unary("C", "cos", "X", DType::kFp32);
  const auto angles = read(f.reference.data("X"), 8);
  const auto bounds = read(f.reference.bounds("C", DType::kFp32), 8);
  for (size_t i = 0; i < angles.size(); ++i) {
    if (std::fabs(angles[i]) > 1e4F) expect(bounds[i] >= 2, "cos: " + std::to_string(bounds[i]));
  }
}

/// Several ranks may drop NaN from a max, so its bound is infinite, and a comparison with it may
/// give either result.
void test_bounds_of_dropped_nan() {
  for (const int ranks : {1, 2}) {
    Fixture f(ranks);
    normal(f, "A", 0);
    f.reference.unary("L", "log", "A", DType::kFp32);
    f.reference.reduce("max", "max", "L", 2, DType::kFp32);
    f.reference.reduce("B", "min", "A", 2, DType::kFp32);
    f.reference.binary("gt", "gt", "B", "max", DType::kFp32);
    expect(std::isnan(read(f.reference.data("max"), 1)[0]), "max is NaN");
    const float max = read(f.reference.bounds("max", DType::kFp32), 1)[0];
    expect((max == INFINITY) == (ranks > 1), "max: " + std::to_string(max));
    const float gt = read(f.reference.bounds("gt", DType::kFp32), 1)[0];
    expect((gt >= 1) == (ranks > 1), "gt: " + std::to_string(gt));
  }
}

template <typename F>
void expect_error(F f, const char* what) {
  bool threw = false;
  try {
    f();
  } catch (const hirgen::Error& error) {
    threw = error.code() == hirgen::Code::kInternal;
  }
  expect(threw, what);
}

void test_misfits_are_errors() {
  Fixture f;
  f.input("A", {4, 6});
  f.input("B", {5, 7});
  auto& r = f.reference;
  expect_error([&] { r.matmul("C", "A", "B", DType::kFp32); }, "inner extents differ");
  expect_error([&] { r.binary("C", "add", "A", "B", DType::kFp32); }, "no broadcast");
  expect_error([&] { r.reshape("C", "A", {5, 5}); }, "another number of elements");
  expect_error([&] { r.reduce("C", "sum", "A", 2, DType::kFp32); }, "no such axis");
  expect_error([&] { r.unary("C", "sine", "A", DType::kFp32); }, "no such function");
  expect_error([&] { r.set("C", "D"); }, "no such tensor");
}

}  // namespace

int main() {
  return run(
      "math_reference",
      {test_matmul, test_batched_matmul, test_batches_stretch, test_linear, test_shape_operations,
       test_elementwise_operations, test_reductions_drop_their_axis,
       test_names_can_be_defined_again, test_generated_inputs, test_terms_that_cancel,
       test_a_missing_key_is_found, test_bounds_of_sums_of_bf16, test_bounds_of_products_of_fp8,
       test_bounds_of_operations, test_bounds_of_integers, test_bounds_of_overflow,
       test_bounds_of_angles, test_bounds_of_dropped_nan, test_misfits_are_errors});
}
