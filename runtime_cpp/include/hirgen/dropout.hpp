// Counter-based dropout: a probability, a seed, a salt and the index of an element in the whole
// tensor decide whether the element is dropped. So there is no generator state and no mask in
// memory, and all ranks, forward and backward, drop the same elements.
#pragma once

#include <cstdint>

#include "hirgen/kernels.hpp"
#include "hirgen/thread_vector.hpp"

namespace hirgen {

/// The four 32-bit words of a Philox counter or result.
struct Words {
  uint32_t value[4];
};

/// Returns the result of Philox4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw: Parallel Random
/// Numbers: As Easy as 1, 2, 3. SC 2011).
HG_HOST_DEVICE inline Words philox(Words counter, uint32_t key0, uint32_t key1) {
  auto& c = counter.value;
#ifdef __CUDA_ARCH__
#pragma unroll 2  // fully unrolled, several calls would keep all round keys in registers
#endif
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53U} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57U} * c[2];
    c[0] = static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0;
    c[1] = static_cast<uint32_t>(b);
    c[2] = static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1;
    c[3] = static_cast<uint32_t>(a);
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

/// Returns the random words of the elements with indices 8 * block to 8 * block + 7. Word j has 16
/// bits for element 2 j in its lower half and 16 bits for element 2 j + 1 in its upper half.
HG_HOST_DEVICE inline Words words_of(const Dropout& dropout, int64_t seed, uint64_t block) {
  const auto salt = static_cast<uint64_t>(dropout.salt), key = static_cast<uint64_t>(seed);
  return philox({{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                  static_cast<uint32_t>(salt), static_cast<uint32_t>(salt >> 32)}},
                static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

/// Returns p in units of 2^-16, rounded to an integer. An element is kept if its 16-bit random
/// number is at least this integer.
HG_HOST_DEVICE inline uint32_t least_of(const Dropout& dropout) {
  return (static_cast<uint32_t>(dropout.p * 0x1p17F) + 1) / 2;
}

/// Returns the factor of kept elements: 1 / (1 - p), where p is rounded as in least_of().
HG_HOST_DEVICE inline float scale_of(const Dropout& dropout) {
  return 1.0F / (1.0F - static_cast<float>(least_of(dropout)) * 0x1p-16F);
}

/// Returns whether an element is kept, by the upper or lower half of its random word. Elements with
/// an even index use the lower half.
HG_HOST_DEVICE inline bool stays(const Dropout& dropout, uint32_t word, bool upper) {
  return (upper ? word : word << 16) >= least_of(dropout) << 16;
}

/// Returns the index of an element in the whole tensor, from its row and column there.
HG_HOST_DEVICE inline uint64_t index_of(const Dropout& dropout, float row, float column) {
  return static_cast<uint64_t>(row) * static_cast<uint64_t>(dropout.width) +
         static_cast<uint64_t>(column);
}

/// Returns whether the element at an index is kept.
HG_HOST_DEVICE inline bool stays_at(const Dropout& dropout, int64_t seed, uint64_t index) {
  const Words words = words_of(dropout, seed, index / 8);
  const uint32_t low = (index & 2) == 0 ? words.value[0] : words.value[1];
  const uint32_t high = (index & 2) == 0 ? words.value[2] : words.value[3];
  return stays(dropout, (index & 4) == 0 ? low : high, index % 2 != 0);
}

/// Returns x, scaled, if the element at the index is kept, else 0.
HG_HOST_DEVICE inline float dropped_at(const Dropout& dropout, float x, int64_t seed,
                                       uint64_t index) {
  return stays_at(dropout, seed, index) ? x * scale_of(dropout) : 0.0F;
}

/// The dropout of x, as an expression of a row.
template <typename X, typename C, typename R>
struct DropoutExpression {
  using Expression = void;
  Dropout dropout;
  X x;
  int64_t seed;
  C column;
  R row;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    const uint32_t kept = mask<W>(place);  // computed first, while x does not occupy registers
    ThreadVector<W> result = columns_of<W>(x, place);
    HG_UNROLL
    for (int j = 0; j < W; ++j) {
      result.value[j] = (kept >> j & 1U) != 0 ? result.value[j] * scale_of(dropout) : 0.0F;
    }
    return result;
  }

 private:
  /// Returns a bit for each of W columns (bit j: column j): set if the element is kept.
  template <int W>
  HG_HOST_DEVICE uint32_t mask(Place place) const {
    const auto columns = columns_of<W>(column, place);
    const auto rows = columns_of<W>(row, place);
    const auto index = [&](int j) {
      return index_of(dropout, element_of(rows, j), element_of(columns, j));
    };
    const uint64_t first = index(0);
    uint32_t kept = 0;
    if ((W == 4 || W == 8) && first % W == 0 && index(W - 1) == first + (W - 1)) {
      Words words = words_of(dropout, seed, first / 8);  // holds the bits of all W elements
      if (W == 4 && (first & 4) != 0) words = {{words.value[2], words.value[3]}};
      HG_UNROLL
      for (int j = 0; j < W; ++j) {
        kept |= uint32_t{stays(dropout, words.value[j / 2 % 4], j % 2 != 0)} << j;
      }
      return kept;
    }
    HG_UNROLL
    for (int j = 0; j < W; ++j) kept |= uint32_t{stays_at(dropout, seed, index(j))} << j;
    return kept;
  }
};

namespace fn {

/// Returns x with random elements replaced by 0 and the others scaled. `row` and `column` are
/// coordinates in the whole tensor. A float x is a single element.
template <Value X, Value C, Value R>
HG_HOST_DEVICE inline auto dropout(const X& x, int64_t seed, const C& column, const R& row,
                                   const Dropout& dropout) {
  if constexpr (Vector<X>) {
    return DropoutExpression<X, C, R>{dropout, x, seed, column, row};
  } else {
    return dropped_at(dropout, x, seed, index_of(dropout, row, column));
  }
}
/// dropout() for a tensor with a single row, row 0.
template <Value X, Value C>
HG_HOST_DEVICE inline auto dropout(const X& x, int64_t seed, const C& column, const Dropout& with) {
  return dropout(x, seed, column, 0.0F, with);
}

}  // namespace fn
}  // namespace hirgen
