#include <algorithm>

#include "hirgen/fill.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/placement.hpp"

namespace hirgen {
namespace {

constexpr const char* kFill = "fill inputs";

/// One step of the splitmix64 generator: every bit of the result depends on every bit of z.
HG_HOST_DEVICE inline uint64_t splitmix64(uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Returns the key of one input: element i draws the random number splitmix64(key ^ i).
uint64_t key_of(int input, uint64_t seed) {
  return seed ^ (static_cast<uint64_t>(input) + 1) * 0x9E3779B97F4A7C15U;
}

/// Sparse integers in -2..2, by the index of the element. Of 65536 elements, about `density` are
/// not zero.
struct Integers {
  uint64_t key;
  uint64_t density;
  bool natural;   ///< none is below 0, so that all differ from poison(), which is -1
  bool mask;      ///< 0 or 1 instead, equally often
  uint64_t rows;  ///< if not 0: row numbers from 0 to rows - 1 instead

  HG_HOST_DEVICE float operator()(int64_t i) const {
    const uint64_t h = splitmix64(key ^ static_cast<uint64_t>(i));
    if (rows > 0) return static_cast<float>((h >> 32) % rows);
    if (mask) return static_cast<float>(h & 1U);
    if ((h >> 32) % 65536 >= density) return 0.0F;
    const float magnitude = ((h >> 1) & 3U) == 3 ? 2.0F : 1.0F;
    return (h & 1U) != 0 && !natural ? -magnitude : magnitude;
  }
};

/// Returns the number of rows of the gather's table if the elements of an input are row numbers.
/// Returns 0 for other inputs, and for a table of one row.
uint64_t rows_of(const TensorDesc& desc) {
  return is_integer(desc.dtype) && desc.deviation > 1 ? static_cast<uint64_t>(desc.deviation) : 0;
}

/// Returns the rule of fill_integers(). The share of nonzero elements is 16 /
/// ceil(sqrt(contraction)), at most 1. So in a sum of any length, at most about 256 products are
/// not zero.
Integers integers_of(const TensorDesc& desc, int input, uint64_t seed) {
  uint64_t root = 1;
  const auto contraction = static_cast<uint64_t>(desc.contraction);
  while (root * root < contraction) ++root;
  return {key_of(input, seed), std::min<uint64_t>(65536, 65536 * 16 / root), is_integer(desc.dtype),
          desc.fill == Fill::kMask, rows_of(desc)};
}

/// Normal values by the Box-Muller transform of two 24-bit parts of one random number, adapted to
/// `fill`.
struct Normal {
  uint64_t key;
  float deviation;
  Fill fill;

  HG_HOST_DEVICE float operator()(int64_t i) const {
    const uint64_t h = splitmix64(key ^ static_cast<uint64_t>(i));
    const float u = (static_cast<float>(h >> 40) + 1.0F) * 0x1p-24F;  // in (0, 1]
    const float turn = static_cast<float>(h & 0xFFFFFFU) * 0x1p-24F;  // in [0, 1)
    const float x = deviation * sqrtf(-2.0F * logf(u)) * cosf(6.28318530717958648F * turn);
    if (fill == Fill::kMask) return static_cast<float>(h & 1U);
    return fill == Fill::kPositive ? fabsf(x) + 0.25F : x;
  }
};

Normal normal_of(const TensorDesc& desc, int input, uint64_t seed) {
  return {key_of(input, seed), static_cast<float>(desc.deviation), desc.fill};
}

/// Values of integer types. If `rows` is not 0, they are row numbers below `rows`. Else, if the
/// tensor has a `single` element, its value is a seed of 24 bits. Else they are positions or
/// elements of masks, of which about half are 0 and the others are below 256.
struct Naturals {
  uint64_t key;
  bool single;
  uint64_t rows;

  HG_HOST_DEVICE float operator()(int64_t i) const {
    const uint64_t h = splitmix64(key ^ static_cast<uint64_t>(i));
    if (rows > 0) return static_cast<float>((h >> 32) % rows);
    if (single) return static_cast<float>(h >> 40);
    return (h & 1U) == 0 ? 0.0F : static_cast<float>(h >> 56);
  }
};

Naturals naturals_of(const TensorDesc& desc, int input, uint64_t seed) {
  return {key_of(input, seed), desc.elements() == 1, rows_of(desc)};
}

/// local[i] = rule(global index of i).
template <typename Rule>
struct FillKernel {
  Rule rule;
  void* local;
  DType type;
  Placement placement;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const float x[1] = {rule(placement.global(i))};
    store(local, type, i, x);
  }
};

/// whole[i] = rule(i), rounded to `type`.
template <typename Rule>
struct FillWholeKernel {
  Rule rule;
  float* whole;
  DType type;

  HG_HOST_DEVICE void operator()(int64_t i) const { whole[i] = round_to(type, rule(i)); }
};

template <typename Rule>
void fill_shard(Rule rule, void* local, const TensorDesc& desc, cudaStream_t stream) {
  parallel_for(desc.local_elements(), stream, kFill,
               FillKernel<Rule>{rule, local, desc.dtype, placement_of(desc)});
}

template <typename Rule>
void fill_whole(Rule rule, float* whole, const TensorDesc& desc, cudaStream_t stream) {
  parallel_for(desc.elements(), stream, kFill, FillWholeKernel<Rule>{rule, whole, desc.dtype});
}

/// A rule that returns the elements of a whole tensor.
struct Lookup {
  const float* whole;
  HG_HOST_DEVICE float operator()(int64_t i) const { return whole[i]; }
};

struct IntoWholeKernel {
  float* whole;
  const void* local;
  DType type;
  Placement placement;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    whole[placement.global(i)] = load(local, type, i);
  }
};

struct WidenKernel {
  float* out;
  const void* in;
  DType type;

  HG_HOST_DEVICE void operator()(int64_t i) const { out[i] = load(in, type, i); }
};

}  // namespace

void fill_integers(void* local, const TensorDesc& desc, int input, uint64_t seed,
                   cudaStream_t stream) {
  fill_shard(integers_of(desc, input, seed), local, desc, stream);
}

void fill_integers_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                         cudaStream_t stream) {
  fill_whole(integers_of(desc, input, seed), whole, desc, stream);
}

void fill_normal(void* local, const TensorDesc& desc, int input, uint64_t seed,
                 cudaStream_t stream) {
  if (is_integer(desc.dtype)) {
    return fill_shard(naturals_of(desc, input, seed), local, desc, stream);
  }
  fill_shard(normal_of(desc, input, seed), local, desc, stream);
}

void fill_normal_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                       cudaStream_t stream) {
  if (is_integer(desc.dtype)) {
    return fill_whole(naturals_of(desc, input, seed), whole, desc, stream);
  }
  fill_whole(normal_of(desc, input, seed), whole, desc, stream);
}

void poison(void* buffer, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;  // this rank has no shard of the tensor
  HG_CHECK(cudaMemsetAsync(buffer, 0xFF, bytes, stream), kFill);
}

void shard_from_whole(void* local, const TensorDesc& desc, const float* whole,
                      cudaStream_t stream) {
  fill_shard(Lookup{whole}, local, desc, stream);
}

void shard_into_whole(float* whole, const TensorDesc& desc, const void* local,
                      cudaStream_t stream) {
  parallel_for(desc.local_elements(), stream, kFill,
               IntoWholeKernel{whole, local, desc.dtype, placement_of(desc)});
}

void widen_elements(float* out, const void* in, DType type, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kFill, WidenKernel{out, in, type});
}

void narrow_elements(void* out, DType type, const float* in, int64_t n, cudaStream_t stream) {
  TensorDesc flat;
  flat.dtype = type;
  flat.axes = {Axis{n, 1, 0}};
  fill_shard(Lookup{in}, out, flat, stream);
}

}  // namespace hirgen
