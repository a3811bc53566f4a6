// Tests of copies that move, cast, transpose or slice elements, against loops on the host.
#include "hirgen/copies.hpp"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Strided;
using hirgen::UnaryFn;

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

/// Transposes of matrices with elements of 1, 2 and 4 bytes. TransposeKernel splits some of these
/// matrices into squares, with or without groups of squares; it does not copy the others.
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

/// Copies of many sizes by one kernel, from and to every distance from a multiple of 16 bytes.
/// Bytes around the copies keep their values.
void test_copies_of_one_kernel() {
  constexpr size_t kSizes[] = {0, 1, 2, 3, 15, 16, 17, 64, 255, 4096, 10007, 300000};
  constexpr size_t kPart = 300064;  // bytes for each copy
  std::vector<uint8_t> values(kPart * hirgen::CopyKernel::kMostCopies);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 251);
  const Buffer in(values.size()), out(values.size());
  HG_CHECK(
      cudaMemcpyAsync(in.get(), values.data(), values.size(), cudaMemcpyHostToDevice, stream()),
      "test");
  for (size_t apart = 0; apart < 16; ++apart) {
    std::vector<uint8_t> want(values.size(), 0), got(values.size());
    HG_CHECK(cudaMemsetAsync(out.get(), 0, want.size(), stream()), "test");
    hirgen::CopyKernel copies;
    for (size_t i = 0; i < hirgen::CopyKernel::kMostCopies; ++i) {
      const size_t from = i * kPart + i, to = i * kPart + (i + apart) % 16;
      const size_t bytes = kSizes[(i + apart) % std::size(kSizes)];
      copies.add(static_cast<char*>(out.get()) + to, static_cast<char*>(in.get()) + from, bytes);
      for (size_t k = 0; k < bytes; ++k) want[to + k] = values[from + k];
    }
    copies.submit(stream(), "test");
    HG_CHECK(cudaMemcpyAsync(got.data(), out.get(), got.size(), cudaMemcpyDeviceToHost, stream()),
             "test");
    HG_CHECK(cudaStreamSynchronize(stream()), "test");
    expect(got == want, "copies that are moved by " + std::to_string(apart) + " bytes");
  }
  hirgen::CopyKernel().submit(stream(), "test");  // nothing to copy
}

void test_a_kernel_takes_no_more_copies() {
  hirgen::CopyKernel copies;
  for (size_t i = 0; i < hirgen::CopyKernel::kMostCopies; ++i) copies.add(nullptr, nullptr, 0);
  try {
    copies.add(nullptr, nullptr, 0);
    expect(false, "a kernel takes too many copies");
  } catch (const hirgen::Error& error) {
    expect(error.code() == hirgen::Code::kInternal, "another error");
  }
}

}  // namespace

int main() {
  return run("math_copies",
             {test_copies_of_one_kernel, test_a_kernel_takes_no_more_copies, test_moves_of_8_bits,
              test_casts_round_to_nearest_even, test_casts_to_integers,
              test_copies_of_strided_views, test_transposes});
}
