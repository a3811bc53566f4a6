// Tests of unary functions against functions of double on the host, and of their spellings.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "test.hpp"

namespace {

using namespace math_test;
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
  return run("math_unary_functions",
             {test_unary_functions, test_misfits_are_errors, test_constants_of_all_sizes});
}
