// Common parts of the tests of arithmetic: expectations and tensors on the device. Each test is a
// program that exits with 1 if an expectation failed.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/tensor.hpp"

namespace math_test {

using hirgen::DType;

constexpr DType kTypes[] = {DType::kFp32, DType::kFp16, DType::kBf16};

inline int failures = 0;

/// Counts a failure and prints `what`, unless `holds`.
inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAIL %s\n", what.c_str());
}

/// Expects that two lists are equal, element by element, and prints the first difference. NaN
/// equals NaN.
inline void expect_equal(const std::vector<float>& got, const std::vector<float>& expected,
                         const std::string& what) {
  if (got.size() != expected.size()) return expect(false, what + ": sizes differ");
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (got[i] != got[i] && expected[i] != expected[i])) continue;
    return expect(false, what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                             ", not " + std::to_string(expected[i]));
  }
}

/// A separate stream, so that no test depends on the default stream.
inline cudaStream_t stream() {
  static cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    HG_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "test");
    return made;
  }();
  return stream;
}

/// Device memory, freed at the end of its scope, after the work on stream().
class Buffer {
 public:
  explicit Buffer(size_t bytes) { HG_CHECK(cudaMalloc(&data_, bytes), "test"); }
  ~Buffer() {
    static_cast<void>(cudaStreamSynchronize(stream()));
    static_cast<void>(cudaFree(data_));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Elements of one type on the device, read and written as fp32. Without values, they are poisoned.
/// `offset` elements precede the first one, to move it off a 16-byte boundary.
class Elements {
 public:
  Elements(DType type, int64_t count, int64_t offset = 0)
      : type_(type),
        count_(count),
        offset_bytes_(static_cast<size_t>(offset) * size_of(type)),
        buffer_(static_cast<size_t>(count + offset) * size_of(type)) {
    hirgen::poison(buffer_.get(), static_cast<size_t>(count + offset) * size_of(type), stream());
  }
  Elements(DType type, const std::vector<float>& values, int64_t offset = 0)
      : Elements(type, static_cast<int64_t>(values.size()), offset) {
    const Buffer staging(values.size() * sizeof(float));
    HG_CHECK(cudaMemcpyAsync(staging.get(), values.data(), values.size() * sizeof(float),
                             cudaMemcpyHostToDevice, stream()),
             "test");
    hirgen::narrow_elements(get(), type, static_cast<float*>(staging.get()), count_, stream());
    HG_CHECK(cudaStreamSynchronize(stream()), "test");
  }

  void* get() const { return static_cast<char*>(buffer_.get()) + offset_bytes_; }
  std::vector<float> read() const {
    const size_t bytes = static_cast<size_t>(count_) * sizeof(float);
    const Buffer staging(bytes);
    std::vector<float> values(static_cast<size_t>(count_));
    hirgen::widen_elements(static_cast<float*>(staging.get()), get(), type_, count_, stream());
    HG_CHECK(cudaMemcpyAsync(values.data(), staging.get(), bytes, cudaMemcpyDeviceToHost, stream()),
             "test");
    HG_CHECK(cudaStreamSynchronize(stream()), "test");
    return values;
  }

 private:
  DType type_;
  int64_t count_;
  size_t offset_bytes_;
  Buffer buffer_;
};

/// The values, rounded to `type`.
inline std::vector<float> rounded(DType type, const std::vector<float>& values) {
  return Elements(type, values).read();
}

/// Pseudorandom integers from -3 to 4: a regular pattern could hide a wrong index.
inline std::vector<float> integers(size_t count, unsigned salt) {
  std::vector<float> values(count);
  unsigned state = salt * 2654435761U + 12345U;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(state >> 29) - 3);
  }
  return values;
}

/// A row-major view of `extents`.
inline hirgen::Strided row_major(const std::vector<int64_t>& extents) {
  hirgen::Strided view;
  view.axes = static_cast<int>(extents.size());
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    view.extent[d] = extents[d];
    view.stride[d] = stride;
    stride *= extents[d];
  }
  return view;
}

/// Runs the cases of one program, prints one line of summary, and returns the exit code.
inline int run(const char* test, const std::vector<void (*)()>& cases) {
  for (const auto& one : cases) {
    try {
      one();
    } catch (const std::exception& error) {
      expect(false, error.what());
    }
  }
  std::printf("%s: %s\n", test, failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace math_test
