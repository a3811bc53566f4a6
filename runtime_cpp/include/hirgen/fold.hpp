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
/// The number of threads of a block is at most kFoldThreads, because small blocks make it easy to
/// place a cluster on the SMs. It is at most kMostFoldThreads if there are so few results that a
/// cluster of small blocks would have too few threads for each result.
constexpr int kFoldThreads = 256, kMostFoldThreads = 512;
constexpr int kClusterBlocks = 8;  // the most that every GPU with clusters supports

/// Replaces `sum` in every thread of a warp by the fold of the sums of all 32 threads.
template <int W>
__device__ void fold_in_warp(ReduceFn fn, float (&sum)[W]) {
  for (int apart = 1; apart < 32; apart *= 2) {
    float other[W];
    HG_UNROLL
    for (int j = 0; j < W; ++j) other[j] = __shfl_xor_sync(~0U, sum[j], apart);
    apply(fn, sum, other);
  }
}
/// Computes all results, with blocks of up to T threads that share results as Sharing describes.
template <int T, typename Fold>
__global__ void __launch_bounds__(T) fold_kernel(const __grid_constant__ Fold fold) {
  await_earlier_kernels();
  constexpr int W = Fold::kWidth;
  __shared__ float partial[T * W];  // sums of threads or warps; later, the results of the block
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
  int parts = threads;
  if (lanes == 1 && threads >= 32) {  // adjacent slices: a warp shares each result
    fold_in_warp(fold.fn, sum);
    parts = threads / 32;
  }
  if (parts == threads || threadIdx.y % 32 == 0) {
    const int part = static_cast<int>(threadIdx.y) * parts / threads;
    HG_UNROLL
    for (int j = 0; j < W; ++j) partial[(part * lanes + threadIdx.x) * W + j] = sum[j];
  }
  __syncthreads();
  const int columns = static_cast<int>(lanes < all - first ? lanes : all - first) * W;
  for (int c = thread; c < columns; c += lanes * threads) {
    float total[1] = {partial[c]};
    for (int t = 1; t < parts; ++t) apply(fold.fn, total, {partial[t * lanes * W + c]});
    partial[c] = total[0];
  }
#if __CUDA_ARCH__ >= 900
  cluster.sync();
#else
  __syncthreads();
#endif
  if (block == 0) {
    for (int c = thread; c < columns; c += lanes * threads) {
      float total[1] = {partial[c]};
#if __CUDA_ARCH__ >= 900
      for (int b = 1; b < blocks; ++b) {
        apply(fold.fn, total, {*cluster.map_shared_rank(&partial[c], b)});
      }
#endif
      fold.store(first * W + c, total);
    }
  }
#if __CUDA_ARCH__ >= 900
  cluster.sync();  // a block must not exit while block 0 reads its memory
#endif
}

/// Chooses how threads share results. Aims at about 1024 threads for each SM and, if slices are
/// adjacent, at least a warp for each result. Chooses fewer threads if a thread would have fewer
/// than kSlicesAtOnce slices to read, or if a cluster cannot have that many threads.
template <typename Fold>
Sharing sharing_of(const Fold& fold, const char* where) {
  const int64_t at_once = int64_t{1024} * multiprocessors(where);
  const int64_t results = std::max(fold.results() / Fold::kWidth, int64_t{1});
  const int64_t useful = (fold.count + kSlicesAtOnce - 1) / kSlicesAtOnce;
  int64_t wanted = std::min(at_once / results, useful);
  // Adjacent threads should read adjacent memory. If slices are adjacent, a whole warp shares each
  // result; otherwise adjacent lanes have adjacent results.
  if (fold.adjacent) wanted = std::max(wanted, std::min(useful, int64_t{32}));
  if (wanted < 2) return {kFoldThreads, 1, 1};
  const int lanes = fold.adjacent ? 1 : Fold::kWidth > 1 ? 8 : 32;
  constexpr int kMost = kHopper ? kClusterBlocks : 1;
  int sharing = 2;  // at most 4/3 of `wanted` in the end: more blocks would need a second wave
  while (3 * sharing <= 2 * wanted) sharing *= 2;
  const int block = lanes * sharing > kFoldThreads * kMost ? kMostFoldThreads : kFoldThreads;
  const int threads = std::min(sharing, block / lanes);
  return {lanes, threads, std::min(sharing / threads, kMost)};
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
  const auto kernel = sharing.lanes * sharing.threads > kFoldThreads
                          ? fold_kernel<kMostFoldThreads, Fold>
                          : fold_kernel<kFoldThreads, Fold>;
  launch_early(kernel, grid_of(blocks, where), threads, sharing.blocks, stream, where, fold);
}

#else

template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  parallel_for(fold.results() / Fold::kWidth, stream, where, FoldAlone<Fold>{fold});
}

#endif

}  // namespace hirgen
