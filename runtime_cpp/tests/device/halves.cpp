// Tests of conversions to and from fp16 and bf16 against exact arithmetic in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "test.hpp"

using namespace device_test;

namespace {

template <class T>
uint16_t bits_of(T value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T>
T from_bits(uint16_t bits) {
  T value;
  memcpy(static_cast<void*>(&value), &bits, sizeof bits);
  return value;
}

/// The number that 16 bits encode, with this many exponent bits.
double decode(uint16_t bits, int exponent_bits) {
  int fraction_bits = 15 - exponent_bits;
  int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias)
                               : std::ldexp(1 + fraction, exponent - bias));
}

struct Format {
  int exponent_bits;
  std::function<float(uint16_t)> to_float;
  std::function<uint16_t(float)> from_float;
};

const Format kBf16{8,
                   [](uint16_t bits) { return __bfloat162float(from_bits<__nv_bfloat16>(bits)); },
                   [](float value) { return bits_of(__float2bfloat16(value)); }};
const Format kFp16{5, [](uint16_t bits) { return __half2float(from_bits<__half>(bits)); },
                   [](float value) { return bits_of(__float2half(value)); }};

void every_value(const Format& format) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double expected = decode(static_cast<uint16_t>(bits), format.exponent_bits);
    float got = format.to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT(std::isnan(got));
      continue;
    }
    EXPECT(got == expected);
    EXPECT(format.from_float(got) == bits);
  }
}

/// A number between two neighbours is rounded to the nearer one, and from the middle to the even
/// one.
void rounding(const Format& format) {
  int fraction_bits = 15 - format.exponent_bits;
  uint16_t infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << fraction_bits);
  for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
    double low = decode(bits, format.exponent_bits);
    double high = decode(static_cast<uint16_t>(bits + 1), format.exponent_bits);
    auto middle = static_cast<float>((low + high) / 2);
    uint16_t even = static_cast<uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    EXPECT(format.from_float(middle) == even);
    EXPECT(format.from_float(-middle) == (even | 0x8000));
    EXPECT(format.from_float(std::nextafter(middle, 0.0F)) == bits);
    EXPECT(format.from_float(std::nextafter(middle, HUGE_VALF)) == bits + 1);
  }
  EXPECT(format.from_float(HUGE_VALF) == infinity);
  EXPECT(std::isnan(format.to_float(format.from_float(std::nanf("")))));
}

void overflow() {
  EXPECT(kFp16.from_float(65504.0F) == 0x7BFF);
  EXPECT(kFp16.from_float(65519.0F) == 0x7BFF);
  EXPECT(kFp16.from_float(65520.0F) == 0x7C00);
  EXPECT(kFp16.from_float(1e30F) == 0x7C00);
  EXPECT(kBf16.from_float(3.4e38F) == 0x7F80);
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"bf16_every_value", [] { every_value(kBf16); }},
                       {"fp16_every_value", [] { every_value(kFp16); }},
                       {"bf16_rounding", [] { rounding(kBf16); }},
                       {"fp16_rounding", [] { rounding(kFp16); }},
                       {"overflow", overflow},
                   });
}
