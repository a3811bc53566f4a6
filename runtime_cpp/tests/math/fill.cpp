// Tests of filling inputs, of converting between shards and whole tensors, and of checking results.
#include <cmath>
#include <limits>

#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Axis;
using hirgen::TensorDesc;

/// A [4, 6, 10] tensor whose middle axis is split over two ranks.
TensorDesc sharded(DType type, int coordinate) {
  TensorDesc desc;
  desc.name = "T";
  desc.dtype = type;
  desc.where = "test";
  desc.axes = {Axis{4, 1, 0}, Axis{6, 2, coordinate}, Axis{10, 1, 0}};
  return desc;
}

/// The elements of `whole` in the shard of `coordinate`, by the definition.
std::vector<float> shard_of(const std::vector<float>& whole, int coordinate) {
  std::vector<float> shard;
  for (int i = 0; i < 4; ++i) {
    for (int j = 3 * coordinate; j < 3 * coordinate + 3; ++j) {
      for (int k = 0; k < 10; ++k) {
        shard.push_back(whole[static_cast<size_t>((i * 6 + j) * 10 + k)]);
      }
    }
  }
  return shard;
}

std::vector<float> whole_integers(const TensorDesc& desc, int input, uint64_t seed) {
  const Elements whole(DType::kFp32, desc.elements());
  hirgen::fill_integers_whole(static_cast<float*>(whole.get()), desc, input, seed, stream());
  return whole.read();
}

/// Ranks fill their shards separately, which must equal the shards of the whole tensor.
void test_slices_agree_with_the_whole() {
  for (const DType type : kTypes) {
    for (int coordinate = 0; coordinate < 2; ++coordinate) {
      const TensorDesc desc = sharded(type, coordinate);
      const Elements local(type, desc.local_elements());
      hirgen::fill_integers(local.get(), desc, 1, 7, stream());
      expect_equal(local.read(), shard_of(whole_integers(desc, 1, 7), coordinate), "integers");

      const Elements whole(DType::kFp32, desc.elements());
      hirgen::fill_normal(local.get(), desc, 1, 7, stream());
      hirgen::fill_normal_whole(static_cast<float*>(whole.get()), desc, 1, 7, stream());
      expect_equal(local.read(), shard_of(whole.read(), coordinate), "normal values");
    }
  }
}

/// A single integer is a seed; other integers are below 256, and about half of them 0.
void test_integer_inputs() {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    for (int coordinate = 0; coordinate < 2; ++coordinate) {
      const TensorDesc desc = sharded(type, coordinate);
      const Elements local(type, desc.local_elements()), whole(DType::kFp32, desc.elements());
      hirgen::fill_normal(local.get(), desc, 1, 7, stream());
      hirgen::fill_normal_whole(static_cast<float*>(whole.get()), desc, 1, 7, stream());
      expect_equal(local.read(), shard_of(whole.read(), coordinate), "naturals");
      int zeros = 0;
      for (const float x : whole.read()) {
        expect(x == std::trunc(x) && x >= 0 && x < 256, "a natural number below 256");
        zeros += x == 0;
      }
      expect(zeros > 80 && zeros < 160, "half of 240 are 0");
    }
    TensorDesc seed = sharded(type, 0);
    seed.axes = {Axis{1, 1, 0}};
    const Elements one(type, 1);
    hirgen::fill_normal(one.get(), seed, 0, 1, stream());
    const float first = one.read()[0];
    hirgen::fill_normal(one.get(), seed, 0, 2, stream());
    expect(first >= 256 && first != one.read()[0], "seeds are large, and differ");
  }
}

/// The values themselves. model/eval (FillIntegers) generates the same values, so both must change
/// together.
void test_the_rule_is_the_models() {
  TensorDesc desc = sharded(DType::kFp32, 0);
  desc.axes = {Axis{12, 1, 0}};
  expect_equal(whole_integers(desc, 0, 1), {-1, 1, -2, 1, 1, -1, -1, -1, 1, -1, 1, 2}, "dense");
  desc.axes = {Axis{18, 1, 0}};
  desc.contraction = 8192;
  expect_equal(whole_integers(desc, 1, 7), {0, 0, 0, -2, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
               "sparse");
}

void test_integers_have_the_promised_density() {
  TensorDesc desc = sharded(DType::kBf16, 0);
  desc.axes = {Axis{1 << 16, 1, 0}};
  desc.contraction = 8192;  // 16 / ceil(sqrt(8192)) = 16 / 91
  int nonzero = 0, twos = 0, negative = 0;
  for (const float x : whole_integers(desc, 0, 1)) {
    expect(x == std::trunc(x) && std::fabs(x) <= 2, "an integer of at most 2");
    nonzero += x != 0;
    twos += std::fabs(x) == 2;
    negative += x < 0;
  }
  const double expected = 65536.0 * 16 / 91;
  expect(std::fabs(nonzero - expected) < 500, "density " + std::to_string(nonzero));
  expect(std::fabs(twos - expected / 4) < 300, "twos " + std::to_string(twos));
  expect(std::fabs(negative - expected / 2) < 400, "signs " + std::to_string(negative));
}

void test_inputs_and_seeds_differ() {
  const TensorDesc desc = sharded(DType::kFp32, 0);
  expect(whole_integers(desc, 0, 1) != whole_integers(desc, 1, 1), "inputs differ");
  expect(whole_integers(desc, 0, 1) != whole_integers(desc, 0, 2), "seeds differ");
}

void test_normal_values_are_normal() {
  TensorDesc desc = sharded(DType::kFp32, 0);
  desc.deviation = 0.25;
  desc.axes = {Axis{1 << 18, 1, 0}};
  const Elements local(DType::kFp32, desc.elements());
  hirgen::fill_normal(local.get(), desc, 0, 3, stream());
  double sum = 0, squares = 0, fourth = 0;
  for (const float value : local.read()) {
    const float x = value * 4;
    sum += x;
    squares += static_cast<double>(x) * x;
    fourth += std::pow(x, 4);
  }
  const double n = 1 << 18;
  expect(std::fabs(sum / n) < 0.01, "mean 0");
  expect(std::fabs(squares / n - 1) < 0.02, "variance 1");
  expect(std::fabs(fourth / n - 3) < 0.15, "fourth moment 3");
}

/// A rank and the reference generate the same values: those that TensorDesc::fill asks for.
void test_masks_and_positive_values() {
  for (const hirgen::Fill fill : {hirgen::Fill::kMask, hirgen::Fill::kPositive}) {
    TensorDesc desc = sharded(DType::kFp32, 0);
    desc.axes = {Axis{1 << 12, 1, 0}};
    desc.fill = fill;
    const Elements local(DType::kFp32, desc.elements()), whole(DType::kFp32, desc.elements());
    hirgen::fill_normal(local.get(), desc, 0, 3, stream());
    hirgen::fill_normal_whole(static_cast<float*>(whole.get()), desc, 0, 3, stream());
    expect_equal(local.read(), whole.read(), "the whole tensor");
    int zeros = 0;
    for (const float x : local.read()) {
      zeros += x == 0;
      expect(fill == hirgen::Fill::kMask ? x == 0 || x == 1 : x >= 0.25F, std::to_string(x));
    }
    expect(fill != hirgen::Fill::kMask || (zeros > 1800 && zeros < 2300), "half of a mask is 0");
    if (fill == hirgen::Fill::kPositive) continue;
    hirgen::fill_integers(whole.get(), desc, 0, 3, stream());
    expect_equal(local.read(), whole.read(), "a mask of integers");
  }
}

void test_slices_move_both_ways() {
  for (const DType type : kTypes) {
    const std::vector<float> values = integers(240, 5);
    const Elements whole(DType::kFp32, values), back(DType::kFp32, 240);
    for (int coordinate = 0; coordinate < 2; ++coordinate) {
      const TensorDesc desc = sharded(type, coordinate);
      const Elements local(type, desc.local_elements());
      hirgen::shard_from_whole(local.get(), desc, static_cast<float*>(whole.get()), stream());
      expect_equal(local.read(), shard_of(values, coordinate), "shard");
      hirgen::shard_into_whole(static_cast<float*>(back.get()), desc, local.get(), stream());
    }
    expect_equal(back.read(), values, "shards put together");
  }
}

/// Compares `local` with its shard of `whole`, with one bound for all elements. A negative bound
/// makes the comparison exact.
hirgen::Wrong compare(const TensorDesc& desc, const std::vector<float>& local,
                      const std::vector<float>& whole, float bound = -1) {
  const Elements got(desc.dtype, local), reference(DType::kFp32, whole);
  const Elements bounds(DType::kFp32, std::vector<float>(whole.size(), bound));
  return hirgen::count_wrong(got.get(), desc, static_cast<float*>(reference.get()),
                             bound < 0 ? nullptr : static_cast<float*>(bounds.get()), stream());
}

void test_the_check_counts_exactly() {
  const std::vector<float> whole = integers(240, 9);
  for (const DType type : kTypes) {
    const TensorDesc desc = sharded(type, 1);
    std::vector<float> local = shard_of(whole, 1);
    expect(compare(desc, local, whole).count == 0, "equal");
    local[31] += 1;  // [1, 0, 1] of the shard is [1, 3, 1] of the whole
    local[77] -= 1;
    const hirgen::Wrong wrong = compare(desc, local, whole);
    expect(wrong.count == 2, "two wrong");
    expect(wrong.first_index == (1 * 6 + 3) * 10 + 1, "index of the first");
    expect(wrong.got == local[31] && wrong.expected == local[31] - 1, "values of the first");
    expect(compare(desc, local, whole, 1).count == 0, "within the bounds");
  }
}

void test_numbers_that_are_not_finite() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  TensorDesc desc = sharded(DType::kBf16, 0);
  desc.axes = {Axis{4, 1, 0}};
  const std::vector<float> ones(4, 1.0F);
  expect(compare(desc, {1, nan, 1, 1}, ones).count == 1, "NaN in the result");
  expect(compare(desc, {1, nan, 1, 1}, ones, 10).count == 1, "NaN with bounds");
  expect(compare(desc, ones, {1, nan, 1, 1}, 10).count == 1, "NaN in the reference");
  expect(compare(desc, ones, {1, infinity, 1, 1}, 10).count == 1, "infinite reference");
  const std::vector<float> special = {nan, infinity, -infinity, 1};
  const hirgen::Wrong equal = compare(desc, special, special);
  expect(equal.count == 0 && equal.not_finite == 3, "NaN equals NaN, infinities go by sign");
  expect(compare(desc, {1, -infinity, 1, 1}, {1, infinity, 1, 1}, 10).count == 1, "signs");
  expect(compare(desc, {1, nan, 1, 1}, ones, infinity).unsure == 4, "an infinite bound");
  expect(compare(desc, {1.5F, 1, 1, 1}, ones, 0.25F).count == 1, "beyond the bound");
  expect(compare(desc, {1.25F, 1, 1, 1}, ones, 0.25F).count == 0, "at the bound");
}

void test_poison_is_all_wrong() {
  for (const DType type : kTypes) {
    const TensorDesc desc = sharded(type, 0);
    const Elements local(type, desc.local_elements()), whole(DType::kFp32, integers(240, 1));
    hirgen::poison(local.get(), desc.local_bytes(), stream());
    const auto wrong =
        hirgen::count_wrong(local.get(), desc, static_cast<float*>(whole.get()), nullptr, stream());
    expect(wrong.count == desc.local_elements(), "poisoned");
  }
}

}  // namespace

int main() {
  return run(
      "math_fill",
      {test_slices_agree_with_the_whole, test_integer_inputs, test_the_rule_is_the_models,
       test_integers_have_the_promised_density, test_inputs_and_seeds_differ,
       test_normal_values_are_normal, test_masks_and_positive_values, test_slices_move_both_ways,
       test_the_check_counts_exactly, test_numbers_that_are_not_finite, test_poison_is_all_wrong});
}
