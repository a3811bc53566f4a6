// Common parts of the tests of long extents: sparse memory, extents around 2^31 and 2^32, and
// row-major indices in 128-bit arithmetic.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "hirgen/numerics.hpp"
#include "test.hpp"

namespace math_test {

__extension__ typedef __int128 Wide;

/// Zeros in virtual memory: pages that are not written take no memory.
template <typename T>
class Sparse {
 public:
  explicit Sparse(int64_t elements) : bytes_(static_cast<size_t>(elements) * sizeof(T)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED)
      throw std::runtime_error("no address space for " + std::to_string(bytes_));
  }
  ~Sparse() { munmap(data_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  T* get() const { return static_cast<T*>(data_); }
  T& operator[](Wide i) const { return get()[static_cast<int64_t>(i)]; }

 private:
  size_t bytes_;
  void* data_;
};

/// 2^31 and 2^32, where signed and unsigned 32-bit arithmetic end, and the numbers next to them.
inline std::vector<int64_t> edges() {
  constexpr int64_t kSigned = int64_t{1} << 31, kUnsigned = int64_t{1} << 32;
  return {kSigned - 1, kSigned, kSigned + 1, kUnsigned - 1, kUnsigned, kUnsigned + 1};
}

/// The edges, and `count` random numbers: half of them within 2048 of an edge, half below 2^33.
inline std::vector<int64_t> long_numbers(unsigned seed, int count = 60) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> numbers = edges();
  for (int i = 0; i < count; ++i) {
    const auto near =
        edges()[random() % edges().size()] + static_cast<int64_t>(random() % 4096) - 2048;
    numbers.push_back(i % 2 == 0 ? near : static_cast<int64_t>(random() % (uint64_t{1} << 33)));
  }
  return numbers;
}

/// The index along each axis of the element with a row-major index.
inline std::vector<Wide> unravel(Wide index, const std::vector<int64_t>& extents) {
  std::vector<Wide> at(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    at[d] = index % extents[d];
    index /= extents[d];
  }
  return at;
}

/// The offset of the element with a row-major index, in memory with these strides.
inline Wide offset_at(Wide index, const std::vector<int64_t>& extents,
                      const std::vector<int64_t>& strides) {
  Wide offset = 0;
  const std::vector<Wide> at = unravel(index, extents);
  for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
  return offset;
}

inline std::string name_of(const std::string& what, int64_t at) {
  return what + " at " + std::to_string(at);
}

/// Puts 3 into `in`, runs kernel(), and expects `want` in `out`. Then restores both.
template <typename In, typename Out, typename Kernel>
void expect_element(const std::string& what, In& in, Out& out, float want, const Kernel& kernel) {
  const auto kept_in = in;
  const auto kept_out = out;
  hirgen::narrow(3.0F, in);
  kernel();
  expect(hirgen::widen(out) == want,
         what + " is " + std::to_string(hirgen::widen(out)) + ", not " + std::to_string(want));
  in = kept_in;
  out = kept_out;
}

}  // namespace math_test
