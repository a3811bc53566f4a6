// Kernels that fold many slices of a tensor into one: reductions (reduce.cu) and fused kernels that
// reduce along columns (columns.hpp). To reach memory bandwidth, each thread issues the reads of
// several slices before it folds them. If there are few results, as for the weight gradient of a
// norm, the threads of a block and the blocks of a cluster share each result. On one GPU, the order
// of folding is fixed, so a result has the same bits each time. Include this from .cu files only.
//
// A Fold is a type with these members:
//
//   kWidth                   number of adjacent results that a thread computes at once
//   fn, count                the function, and the number of slices
//   adjacent                 whether consecutive slices are adjacent in memory
//   results()                the number of results
//   start(i)                 the place, in a slice, of results i * kWidth to (i + 1) * kWidth - 1
//   read(start, slice)       reads the operands of these results in a slice into registers
//   value(start, part, x)    x = the values computed from these operands
//   store(result, sum)       writes the results from number `result` on
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "hirgen/grid.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace hirgen {

/// The number of slices that a thread reads at once (FoldAlone: 2 if there are only one or two). A
/// larger number would need more registers, and so allow fewer threads, without a gain.
constexpr int kSlicesAtOnce = 4;

/// The operands of N slices, read(0) to read(N - 1). Operands may be expressions, which have no
/// default constructor, so the array is initialized from a pack.
template <typename Part, int N>
struct Slices {
  Part of[N];

  template <typename Read>
  HG_HOST_DEVICE explicit Slices(const Read& read)
      : Slices(read, std::make_integer_sequence<int, N>()) {}

 private:
  template <typename Read, int... K>
  HG_HOST_DEVICE Slices(const Read& read, std::integer_sequence<int, K...> /*indices*/)
      : of{read(K)...} {}
};

/// Sets `sum` to the fold of the values of slices first, first + every, ... at start(i). The reads
/// of N slices are issued together. Past the last slice, the function reads the last slice again
/// and folds the identity instead. With a branch, the compiler would delay the reads until after
/// the branch.
template <int N = kSlicesAtOnce, typename Fold>
HG_HOST_DEVICE void fold_every(const Fold& fold, int64_t every, int64_t first, int64_t i,
                               float (&sum)[Fold::kWidth]) {
  constexpr int W = Fold::kWidth;
  const auto start = fold.start(i);
  for (int j = 0; j < W; ++j) sum[j] = identity_of(fold.fn);
  for (int64_t r = first; r < fold.count; r += N * every) {
    const auto part = [&](int k) {
      const int64_t slice = r + k * every;
      return fold.read(start, slice < fold.count ? slice : fold.count - 1);
    };
    const Slices<decltype(part(0)), N> parts(part);
    HG_UNROLL
    for (int k = 0; k < N; ++k) {
      float x[W];
      fold.value(start, parts.of[k], x);
      HG_UNROLL
      for (int j = 0; j < W; ++j) x[j] = r + k * every < fold.count ? x[j] : identity_of(fold.fn);
      apply(fold.fn, sum, x);
    }
  }
}

/// The body of parallel_for() if each thread alone folds all slices of its kWidth results.
template <typename Fold>
struct FoldAlone {
  Fold fold;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    float sum[Fold::kWidth];
    if (fold.count <= 2) {  // such as partial sums of two ranks
      fold_every<2>(fold, 1, 0, i, sum);
    } else {
      fold_every(fold, 1, 0, i, sum);
    }
    fold.store(i * Fold::kWidth, sum);
  }
};

/// Returns the argument i of start(i) for lane 0 of a block. All `blocks` blocks of a cluster
/// compute the same `lanes` lanes.
HG_HOST_DEVICE constexpr int64_t first_of_block(unsigned block, int blocks, int lanes) {
  return int64_t{block} / blocks * lanes;
}

#ifdef __CUDACC__

/// How threads share results. A block has `lanes` times `threads` threads, and a cluster has
/// `blocks` blocks. Each lane has kWidth results, and the `threads` threads of a lane, in all
/// blocks of the cluster, fold different slices of them. All three are powers of two.
struct Sharing {
  int lanes, threads, blocks;
};
constexpr int kFoldThreads = 512;  // the most threads of a block
constexpr int kFoldWarps = kFoldThreads / 32;
constexpr int kClusterBlocks = 8;  // the most that every GPU with clusters supports
/// The most lanes of a block, for kWidth = W. The lanes of a warp read adjacent memory.
template <int W>
constexpr int kMostLanes = W > 1 ? 8 : 32;

/// Returns the fold of N partial results, of which the first `count` exist: read(0) to read(count -
/// 1). All reads are issued before the first one is used.
template <int N, typename Function, typename Read>
__device__ float fold_parts(Function fn, int count, const Read& read) {
  float part[N];
  HG_UNROLL
  for (int k = 0; k < N; ++k) part[k] = k < count ? read(k) : identity_of(fn);
  float total[1] = {part[0]};
  HG_UNROLL
  for (int k = 1; k < N; ++k) apply(fn, total, {part[k]});
  return total[0];
}

/// Replaces `sum` by the fold of the sums of all threads of a warp that have the same lane. A warp
/// has `lanes` lanes.
template <typename Function, int W>
__device__ void fold_in_warp(Function fn, int lanes, float (&sum)[W]) {
  for (int apart = lanes; apart < 32; apart *= 2) {
    float other[W];
    HG_UNROLL
    for (int j = 0; j < W; ++j) other[j] = __shfl_xor_sync(~0U, sum[j], apart);
    apply(fn, sum, other);
  }
}

/// Computes all results, with blocks of threads that share results as Sharing describes. Two blocks
/// fit on an SM, as sharing_of() expects.
template <typename Fold>
__global__ void __launch_bounds__(kFoldThreads, 2) fold_kernel(const __grid_constant__ Fold fold) {
  await_earlier_kernels();
  release_next_kernel();
  constexpr int W = Fold::kWidth;
  __shared__ float partial[kFoldWarps * kMostLanes<W> * W];  // later, the results of the block
  const int lanes = static_cast<int>(blockDim.x), threads = static_cast<int>(blockDim.y);
  int block = 0, blocks = 1;
#if __CUDA_ARCH__ >= 900
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  block = static_cast<int>(cluster.block_rank());
  blocks = static_cast<int>(cluster.num_blocks());
#endif
  const int64_t first = first_of_block(blockIdx.x, blocks, lanes);
  const int64_t i = first + threadIdx.x, all = fold.results() / W;
  float sum[W];
  for (int j = 0; j < W; ++j) sum[j] = identity_of(fold.fn);
  if (i < all) {
    fold_every(fold, int64_t{threads} * blocks, int64_t{block} * threads + threadIdx.y, i, sum);
  }
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  // The number of threads of a warp that share a lane. A block of less than a warp exchanges no
  // values within the warp.
  const int together = lanes * threads < 32 ? 1 : 32 / lanes;
  const int parts = threads / together;
  if (together > 1) fold_in_warp(fold.fn, lanes, sum);
  if (threadIdx.y % together == 0) {
    const int part = static_cast<int>(threadIdx.y) / together;
    HG_UNROLL
    for (int j = 0; j < W; ++j) partial[(part * lanes + threadIdx.x) * W + j] = sum[j];
  }
  __syncthreads();
  const int columns = static_cast<int>(lanes < all - first ? lanes : all - first) * W;
  for (int c = thread; c < columns; c += lanes * threads) {
    const float total[1] = {fold_parts<kFoldWarps>(
        fold.fn, parts, [&](int part) { return partial[part * lanes * W + c]; })};
    if (blocks == 1) {
      fold.store(first * W + c, total);
    } else {
      partial[c] = total[0];
    }
  }
#if __CUDA_ARCH__ >= 900
  if (blocks == 1) return;
  cluster.sync();
  if (block == 0) {
    for (int c = thread; c < columns; c += lanes * threads) {
      const float total[1] = {fold_parts<kClusterBlocks>(
          fold.fn, blocks, [&](int b) { return *cluster.map_shared_rank(&partial[c], b); })};
      fold.store(first * W + c, total);
    }
  }
  cluster.sync();  // a block must not exit while block 0 reads its memory
#endif
}

/// Chooses how threads share results. Aims at about 1024 threads for each SM and, if slices are
/// adjacent, at least a warp for each result. Chooses fewer threads if a thread would have fewer
/// than kSlicesAtOnce slices to read. A cluster starts late and waits for all its blocks, so its
/// threads have twice as many slices. Measured on an H200 with 16 to 16,384 slices.
template <typename Fold>
Sharing sharing_of(const Fold& fold, const char* where) {
  const int64_t at_once = int64_t{1024} * multiprocessors(where);
  const int64_t results = std::max(fold.results() / Fold::kWidth, int64_t{1});
  const int64_t useful = (fold.count + kSlicesAtOnce - 1) / kSlicesAtOnce;
  int64_t wanted = std::min(at_once / results, useful);
  // Adjacent threads should read adjacent memory. If slices are adjacent, a whole warp shares each
  // result; otherwise adjacent lanes have adjacent results.
  if (fold.adjacent) wanted = std::max(wanted, std::min(useful, int64_t{32}));
  constexpr int kMost = kMostLanes<Fold::kWidth>;
  if (wanted < 2) return {kMost, 1, 1};
  int sharing = 2;  // at most 4/3 of `wanted` in the end: more blocks would need a second wave
  while (3 * sharing <= 2 * wanted) sharing *= 2;
  const bool fits = kMost * sharing <= kFoldThreads;
  const int lanes = fold.adjacent ? 1 : fits || kMost > 8 ? kMost : kMost / 2;
  const int threads = std::min(sharing, kFoldThreads / lanes);
  return {lanes, threads, std::clamp(sharing / threads / 2, 1, kHopper ? kClusterBlocks : 1)};
}

/// Enqueues a fold of all results.
template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  const int64_t results = fold.results() / Fold::kWidth;
  const Sharing sharing = sharing_of(fold, where);
  const int64_t blocks = (results + sharing.lanes - 1) / sharing.lanes * sharing.blocks;
  if (results == 0 || sharing.threads == 1 || blocks > kMostOfGrid) {
    return parallel_for(results, stream, where, FoldAlone<Fold>{fold});
  }
  const dim3 threads(static_cast<unsigned>(sharing.lanes), static_cast<unsigned>(sharing.threads));
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
  launch_early(fold_kernel<Fold>, grid_of(blocks, where), threads, sharing.blocks, stream, where,
               fold);
}

#else

template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  parallel_for(fold.results() / Fold::kWidth, stream, where, FoldAlone<Fold>{fold});
}

#endif

}  // namespace hirgen
