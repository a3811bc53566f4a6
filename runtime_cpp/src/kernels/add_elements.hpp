// The work of one thread in a reduction over ranks: it adds elements of the partial sums.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "hirgen/flags.hpp"
#include "hirgen/host_device.hpp"
#include "hirgen/numerics.hpp"

namespace hirgen {

constexpr size_t kMostRanks = 64;

/// The arguments of a reduction kernel, passed by value: at most 4 KB.
struct ReductionList {
  static constexpr size_t kMostFlags = 144;

  void* out;
  int64_t elements;
  SequenceNumber read, written;  // sequence numbers of the sources' and the targets' flags
  uint32_t* blocks;              // TransferFlags::blocks; null if there are no flags
  // flags: the number of flags, of which the first read_flags belong to sources. count, copies: the
  // numbers of sources and of targets. local: the index of this rank's source.
  int flags, read_flags, count, local, copies;
  const void* sources[kMostRanks];  // in rank order
  void* targets[kMostRanks];        // in memory of peers, in the order of store() calls
  CUdeviceptr ready[kMostFlags], done[kMostFlags];
};
static_assert(sizeof(ReductionList) <= 4000);

/// Adds W elements from `at` on, of all sources, and stores the sums in `out` and in all targets.
/// To read without branches, it always reads kAtOnce sources together. After the last source, it
/// reads the local source again, and ignores these values.
template <typename T, int W>
HG_HOST_DEVICE void add_elements(const ReductionList& list, int64_t at) {
  constexpr int kAtOnce = 4;
  float sum[W] = {};
  for (int first = 0; first < list.count; first += kAtOnce) {
    Pack<T, W> packs[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      const int next = first + k < list.count ? first + k : list.local;
      const T* source = static_cast<const T*>(list.sources[next]);
      packs[k] = pack_at<W>(source + at);
    }
    for (int k = 0; k < kAtOnce && first + k < list.count; ++k) {
      for (int j = 0; j < W; ++j) sum[j] += widen(packs[k].value[j]);
    }
  }
  Pack<T, W> result;
  for (int j = 0; j < W; ++j) narrow(sum[j], result.value[j]);
  store_pack(static_cast<T*>(list.out) + at, result);
  for (int i = 0; i < list.copies; ++i) store_pack(static_cast<T*>(list.targets[i]) + at, result);
}

/// Adds the elements of thread `me` of `threads`: in packs of W, then the remaining ones singly.
template <typename T, int W>
HG_HOST_DEVICE void add_strided(const ReductionList& list, int64_t me, int64_t threads) {
  const int64_t packs = list.elements / W;
  for (int64_t i = me; i < packs; i += threads) add_elements<T, W>(list, i * W);
  if constexpr (W > 1) {
    for (int64_t i = packs * W + me; i < list.elements; i += threads) add_elements<T, 1>(list, i);
  }
}

}  // namespace hirgen
