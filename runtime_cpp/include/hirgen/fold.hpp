// Folds of many slices into one: reductions (reduce.cu) and fused kernels that fold columns
// (columns.hpp). They must run at the speed of memory: a thread has four slices under way before it
// folds them, and there are threads for all SMs. Where results are too few for that, as the sums of
// a norm's weight gradients are, threads of a block and blocks of a cluster share each result; they
// fold in a fixed order, so that a result has the same bits each time. Include this from .cu files
// only.
//
// A fold F has
//
//   kWidth                   results that are made at once, side by side
//   fn, count                how it folds how many slices
//   adjacent                 whether slices that follow each other are side by side in memory
//   results()                how many results there are
//   start(i)                 where the results i kWidth, ... are in a slice
//   read(start, slice)       what is read of a slice for them, in registers
//   value(start, part, x)    x = the values of what was read
//   store(result, sum)       writes results from this one on
#pragma once

#include <algorithm>
#include <cstdint>

#include "hirgen/kernels.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace hirgen {

/// Slices that a thread reads at once. More cost registers, and with them threads, for no gain.
constexpr int kSlicesAtOnce = 4;

/// sum = results i, of slices first, first + every, ... Slices past the end are read again from the
/// last one, and count as what changes nothing: the compiler would move reads behind a branch.
template <typename Fold>
HG_HOST_DEVICE void fold_every(const Fold& fold, int64_t every, int64_t first, int64_t i,
                               float (&sum)[Fold::kWidth]) {
  constexpr int W = Fold::kWidth;
  const auto start = fold.start(i);
  for (int j = 0; j < W; ++j) sum[j] = identity_of(fold.fn);
  for (int64_t r = first; r < fold.count; r += kSlicesAtOnce * every) {
    const auto part = [&](int k) {
      const int64_t slice = r + k * every;
      return fold.read(start, slice < fold.count ? slice : fold.count - 1);
    };
    const decltype(part(0)) parts[kSlicesAtOnce] = {part(0), part(1), part(2), part(3)};
    HG_UNROLL
    for (int k = 0; k < kSlicesAtOnce; ++k) {
      float x[W];
      fold.value(start, parts[k], x);
      HG_UNROLL
      for (int j = 0; j < W; ++j) x[j] = r + k * every < fold.count ? x[j] : identity_of(fold.fn);
      apply(fold.fn, sum, x);
    }
  }
}

/// A thread folds all slices of its results.
template <typename Fold>
struct FoldAlone {
  Fold fold;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    float sum[Fold::kWidth];
    fold_every(fold, 1, 0, i, sum);
    fold.store(i * Fold::kWidth, sum);
  }
};

#ifdef __CUDACC__

/// Who shares results: `lanes` threads side by side have kWidth of them each, and all `threads`
/// behind each other, in each of `blocks` of a cluster, fold slices of the same ones.
struct Sharing {
  int lanes, threads, blocks;
};
constexpr int kFoldThreads = 256;
constexpr int kClusterBlocks = 8;  // at most, on any GPU that has clusters

template <typename Fold>
__global__ void __launch_bounds__(kFoldThreads) fold_kernel(const __grid_constant__ Fold fold) {
  await_earlier_kernels();
  constexpr int W = Fold::kWidth;
  __shared__ float partial[kFoldThreads * W];  // of each thread; its start then of the block
  const int lanes = static_cast<int>(blockDim.x), threads = static_cast<int>(blockDim.y);
  int block = 0, blocks = 1;
#if __CUDA_ARCH__ >= 900
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  block = static_cast<int>(cluster.block_rank());
  blocks = static_cast<int>(cluster.num_blocks());
#endif
  const int64_t first = int64_t{blockIdx.x} / blocks * lanes;
  const int64_t i = first + threadIdx.x, all = fold.results() / W;
  if (i < all) {
    float sum[W];
    fold_every(fold, int64_t{threads} * blocks, int64_t{block} * threads + threadIdx.y, i, sum);
    HG_UNROLL
    for (int j = 0; j < W; ++j) partial[(threadIdx.y * lanes + threadIdx.x) * W + j] = sum[j];
  }
  __syncthreads();
  const int columns = static_cast<int>(lanes < all - first ? lanes : all - first) * W;
  for (int c = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); c < columns;
       c += lanes * threads) {
    float sum[1] = {partial[c]};
    for (int t = 1; t < threads; ++t) apply(fold.fn, sum, {partial[t * lanes * W + c]});
    partial[c] = sum[0];
  }
#if __CUDA_ARCH__ >= 900
  cluster.sync();
#else
  __syncthreads();
#endif
  if (block == 0) {
    for (int c = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); c < columns;
         c += lanes * threads) {
      float sum[1] = {partial[c]};
#if __CUDA_ARCH__ >= 900
      for (int b = 1; b < blocks; ++b) {
        apply(fold.fn, sum, {*cluster.map_shared_rank(&partial[c], b)});
      }
#endif
      fold.store(first * W + c, sum);
    }
  }
#if __CUDA_ARCH__ >= 900
  cluster.sync();  // who is read stays
#endif
}

/// How many results of kWidth the threads of a GPU share in which way: enough for 1024 threads of
/// each SM, if each has as many slices as it reads at once.
template <typename Fold>
Sharing sharing_of(const Fold& fold, const char* where) {
  const int sms = multiprocessors(where);
  const int64_t results = std::max(fold.results() / Fold::kWidth, int64_t{1});
  const int64_t wanted =
      std::min(int64_t{1024} * sms / results, (fold.count + kSlicesAtOnce - 1) / kSlicesAtOnce);
  if (wanted < 2) return {kFoldThreads, 1, 1};
  // Slices that follow each other are read side by side by those who share, otherwise results are.
  Sharing sharing = {fold.adjacent ? 1 : Fold::kWidth > 1 ? 8 : 32, 1, 1};
  const bool few = results * kClusterBlocks < int64_t{sms} * sharing.lanes;
  if (few && !fold.adjacent) sharing.lanes = 16 / Fold::kWidth;
  while (sharing.threads < wanted && sharing.threads * sharing.lanes < kFoldThreads) {
    sharing.threads *= 2;
  }
  constexpr int kMost = kHopper ? kClusterBlocks : 1;
  while (sharing.blocks < kMost && sharing.blocks * sharing.threads < wanted) sharing.blocks *= 2;
  return sharing;
}

/// Enqueues a fold.
template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  const int64_t results = fold.results() / Fold::kWidth;
  const Sharing sharing = sharing_of(fold, where);
  if (results == 0 || sharing.threads == 1) {
    return parallel_for(results, stream, where, FoldAlone<Fold>{fold});
  }
  const auto lanes = static_cast<unsigned>(sharing.lanes);
  const auto blocks = static_cast<unsigned>((results + lanes - 1) / lanes * sharing.blocks);
  launch_early(fold_kernel<Fold>, blocks, dim3(lanes, static_cast<unsigned>(sharing.threads)),
               sharing.blocks, stream, where, fold);
}

#else

template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  parallel_for(fold.results() / Fold::kWidth, stream, where, FoldAlone<Fold>{fold});
}

#endif

}  // namespace hirgen
