// Sizes of grids and indices of threads, in 64 bits: tensors can have more than 2^32 elements.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "hirgen/error.hpp"
#include "hirgen/host_device.hpp"

namespace hirgen {

/// The largest number of blocks of a grid along x.
constexpr int64_t kMostOfGrid = std::numeric_limits<int32_t>::max();

/// Returns `blocks` as the size of a grid. Throws Error(kInternal) if it is negative or above
/// kMostOfGrid.
inline unsigned grid_of(int64_t blocks, const char* where) {
  if (blocks < 0 || blocks > kMostOfGrid) {
    throw Error(Code::kInternal, std::string(where) + ": a grid of " + std::to_string(blocks) +
                                     " blocks, and at most " + std::to_string(kMostOfGrid) +
                                     " are possible");
  }
  return static_cast<unsigned>(blocks);
}

/// Returns the index in the grid of thread `thread` of block `block`, if each block has `threads`
/// threads.
HG_HOST_DEVICE constexpr int64_t thread_of_grid(unsigned block, unsigned threads, unsigned thread) {
  return int64_t{block} * threads + thread;
}

/// One part of a launch that is too large for one grid: block i of the part is block first + i of
/// the launch.
template <typename Block>
struct BlocksFrom {
  Block block;
  int64_t first;

  HG_HOST_DEVICE void operator()(int64_t i) const { block(first + i); }
};

/// Divides `n` blocks into parts of at most `most` blocks, and calls launch(blocks, part) for each
/// part. `blocks` is the number of blocks of the part, and `part` is a BlocksFrom.
template <typename Block, typename Launch>
void in_parts(int64_t n, const Block& block, const Launch& launch, int64_t most = kMostOfGrid) {
  for (int64_t first = 0; first < n; first += most) {
    launch(n - first < most ? n - first : most, BlocksFrom<Block>{block, first});
  }
}

}  // namespace hirgen
