// Tests of the division of a row by one value for the whole row. The quotients must be correctly
// rounded, like those of one division for each element, and so must quotients in 8 bits.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hirgen/fused.hpp"
#include "test.hpp"

namespace {

using namespace math_test;

constexpr int64_t kColumns = 8;

template <typename T>
struct Divide {
  T* Y;
  const float *X, *divisors;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(Y, row.load(X) / row.value(divisors));
  }
};

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

float of_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Divides X[r, c] by divisors[r] on the device with results of type T, and compares bits with the
/// host's quotients. NaN equals NaN.
template <typename T>
void expect_quotients_in(DType type, const std::vector<float>& x,
                         const std::vector<float>& divisors, const std::string& what) {
  const auto rows = static_cast<int64_t>(divisors.size());
  const Elements X(DType::kFp32, x), by(DType::kFp32, divisors), Y(type, rows * kColumns);
  auto* y = static_cast<T*>(Y.get());
  const auto* from = static_cast<const float*>(X.get());
  hirgen::launch_rows<kColumns>(Divide<T>{y, from, static_cast<const float*>(by.get())}, {rows},
                                hirgen::accesses(y, from), stream(), "test");
  const std::vector<float> got = Y.read();
  for (size_t i = 0; i < x.size(); ++i) {
    const float v = divisors[i / kColumns], want = hirgen::round_as<T>(x[i] / v);
    if (bits_of(got[i]) == bits_of(want) || (std::isnan(got[i]) && std::isnan(want))) continue;
    char line[160];
    std::snprintf(line, sizeof(line), ": %a / %a is %a, not %a", x[i], v, got[i], want);
    return expect(false, what + line);
  }
}

/// Calls expect_quotients_in for fp32 and for the types of 8 bits.
void expect_quotients(const std::vector<float>& x, const std::vector<float>& divisors,
                      const std::string& what) {
  expect_quotients_in<float>(DType::kFp32, x, divisors, what);
  expect_quotients_in<__nv_fp8_e4m3>(DType::kFp8E4m3, x, divisors, what + " in e4m3");
  expect_quotients_in<__nv_fp8_e5m2>(DType::kFp8E5m2, x, divisors, what + " in e5m2");
}

/// Random numbers of all exponents, and random numbers with exponents from -1 to 2, whose quotients
/// are all normal.
void test_random() {
  constexpr size_t kRows = 625'000;
  std::mt19937 random(1);
  std::vector<float> any_x(kRows * kColumns), any_v(kRows), near_x(kRows * kColumns), near_v(kRows);
  for (float& x : any_x) x = of_bits(static_cast<uint32_t>(random()));
  for (float& v : any_v) v = of_bits(static_cast<uint32_t>(random()));
  const auto near = [&random] {
    return of_bits((static_cast<uint32_t>(random()) & 0x81FFFFFFU) + 0x3F000000U);
  };
  for (float& x : near_x) x = near();
  for (float& v : near_v) v = near();
  expect_quotients(any_x, any_v, "all floats");
  expect_quotients(near_x, near_v, "floats near 1");
}

/// Numbers at which a quotient is special or leaves the range of normal numbers, divided by each
/// other.
void test_limits() {
  using limits = std::numeric_limits<float>;
  std::vector<float> numbers = {0.0F, limits::infinity(), limits::quiet_NaN()};
  for (const float edge : {limits::denorm_min(), 3 * limits::denorm_min(), limits::min(), 0x1p-120F,
                           0x1p-102F, 0x1p-100F, 0x1p-64F, 0x1p-32F, 1.0F, 3.0F, 0x1p32F, 0x1p64F,
                           0x1p100F, 0x1p126F, 0x1p127F, limits::max()}) {
    for (const float x :
         {std::nextafter(edge, 0.0F), edge, std::nextafter(edge, limits::infinity()), edge / 3}) {
      numbers.push_back(x);
    }
  }
  for (size_t i = numbers.size(); i-- > 0;) numbers.push_back(-numbers[i]);
  while (numbers.size() % kColumns != 0) numbers.push_back(1.0F);
  std::vector<float> x, divisors;
  for (const float v : numbers) {
    x.insert(x.end(), numbers.begin(), numbers.end());
    divisors.insert(divisors.end(), numbers.size() / kColumns, v);
  }
  expect_quotients(x, divisors, "limits");
}

}  // namespace

int main() { return run("math_quotient", {test_random, test_limits}); }
