// Local reductions. They must run at the speed of memory: a thread has four reads of 16 bytes under
// way before it folds, and there are threads for all SMs. Where results are too few for that, as
// the sums of a norm's weight gradients are, threads of a block and blocks of a cluster share each
// result; they fold in a fixed order, so that a result has the same bits each time.
#include <algorithm>
#include <string>

#include "hirgen/kernels.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace hirgen {
namespace {

HG_HOST_DEVICE inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Folds `count` slices, `step` elements apart, into one; `in` has elements of type T. Results are
/// W adjacent ones at a time.
template <typename T, int W>
struct Folding {
  static constexpr int kWidth = W;
  /// More reads at once cost registers, and with them threads, for no gain.
  static constexpr int kAtOnce = 4;

  ReduceFn fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  Walk<2> walk;

  /// Results i: all slices.
  HG_HOST_DEVICE void operator()(int64_t i) const {
    float sum[W];
    fold_every(1, 0, i, sum);
    int64_t at[2];
    walk.offsets(i * W, at);
    store(out, out_type, at[0], sum);
  }

  /// sum = results i, of slices first, first + every, ... Slices past the end are read again from
  /// the last one, so that no read waits for a branch, and are not used.
  HG_HOST_DEVICE void fold_every(int64_t every, int64_t first, int64_t i, float (&sum)[W]) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    const T* slices = static_cast<const T*>(in) + at[1];
    for (int j = 0; j < W; ++j) sum[j] = identity_of(fn);
    for (int64_t r = first; r < count; r += kAtOnce * every) {
      Pack<T, W> part[kAtOnce];
      HG_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        const int64_t slice = least(r + k * every, count - 1);
        part[k] = *reinterpret_cast<const Pack<T, W>*>(slices + slice * step);
      }
      HG_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (r + k * every >= count) break;
        float x[W];
        for (int j = 0; j < W; ++j) x[j] = widen(part[k].value[j]);
        apply(fn, sum, x);
      }
    }
  }
};

#ifdef __CUDACC__

/// Who shares results: `lanes` threads side by side have W of them each, and all `threads` behind
/// each other, in each of `blocks` of a cluster, fold slices of the same ones.
struct Sharing {
  int lanes, threads, blocks;
};
constexpr int kFoldThreads = 256;
constexpr int kClusterBlocks = 8;  // at most, on any GPU that has clusters

namespace cg = cooperative_groups;

template <typename Fold>
__global__ void __launch_bounds__(kFoldThreads) fold_kernel(const __grid_constant__ Fold fold) {
  await_earlier_kernels();
  constexpr int W = Fold::kWidth;
  __shared__ float partial[kFoldThreads * W];  // of each thread; its start then of the block
  const int lanes = static_cast<int>(blockDim.x), threads = static_cast<int>(blockDim.y);
  int block = 0, blocks = 1;
#if __CUDA_ARCH__ >= 900
  const cg::cluster_group cluster = cg::this_cluster();
  block = static_cast<int>(cluster.block_rank());
  blocks = static_cast<int>(cluster.num_blocks());
#endif
  const int64_t first = int64_t{blockIdx.x} / blocks * lanes;
  const int64_t i = first + threadIdx.x, all = fold.walk.elements() / W;
  if (i < all) {
    float sum[W];
    fold.fold_every(int64_t{threads} * blocks, int64_t{block} * threads + threadIdx.y, i, sum);
    HG_UNROLL
    for (int j = 0; j < W; ++j) partial[(threadIdx.y * lanes + threadIdx.x) * W + j] = sum[j];
  }
  __syncthreads();
  const int columns = static_cast<int>(least(lanes, all - first)) * W;
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
      int64_t at[2];
      fold.walk.offsets(first * W + c, at);
      store(fold.out, fold.out_type, at[0], sum);
    }
  }
#if __CUDA_ARCH__ >= 900
  cluster.sync();  // who is read stays
#endif
}

/// How many results of W the threads of a GPU share in which way: enough for 1024 threads of each
/// SM, if each has as many slices as it reads at once.
template <typename Fold>
Sharing sharing_of(const Fold& fold, const char* where) {
  const int sms = multiprocessors(where);
  const int64_t results = std::max(fold.walk.elements() / Fold::kWidth, int64_t{1});
  const int64_t wanted =
      std::min(int64_t{1024} * sms / results, (fold.count + Fold::kAtOnce - 1) / Fold::kAtOnce);
  if (wanted < 2) return {kFoldThreads, 1, 1};
  // Slices that follow each other are read side by side by those who share, otherwise results are.
  Sharing sharing = {fold.step == 1 ? 1 : Fold::kWidth > 1 ? 8 : 32, 1, 1};
  const bool few = results * kClusterBlocks < int64_t{sms} * sharing.lanes;
  if (few && fold.step != 1) sharing.lanes = 16 / Fold::kWidth;
  while (sharing.threads < wanted && sharing.threads * sharing.lanes < kFoldThreads) {
    sharing.threads *= 2;
  }
  constexpr int kMost = kHopper ? kClusterBlocks : 1;
  while (sharing.blocks < kMost && sharing.blocks * sharing.threads < wanted) sharing.blocks *= 2;
  return sharing;
}

template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  const int64_t results = fold.walk.elements() / Fold::kWidth;
  const Sharing sharing = sharing_of(fold, where);
  if (results == 0 || sharing.threads == 1) return parallel_for(results, stream, where, fold);
  const auto lanes = static_cast<unsigned>(sharing.lanes);
  const auto blocks = static_cast<unsigned>((results + lanes - 1) / lanes * sharing.blocks);
  launch_early(fold_kernel<Fold>, blocks, dim3(lanes, static_cast<unsigned>(sharing.threads)),
               sharing.blocks, stream, where, fold);
}

#else

template <typename Fold>
void launch_fold(const Fold& fold, cudaStream_t stream, const char* where) {
  parallel_for(fold.walk.elements() / Fold::kWidth, stream, where, fold);
}

#endif

}  // namespace

void launch_reduce(ReduceFn fn, int axis, void* out, DType out_type, const Strided& out_view,
                   const void* in, DType in_type, const Strided& in_view, cudaStream_t stream,
                   const char* where) {
  const Walk<2> walk = walk_over<2>({&out_view, &in_view}, axis, where);
  const int64_t count = in_view.extent[axis], step = in_view.stride[axis];
  const bool vectorised = walk.divides(kWidth) && step % kWidth == 0 && aligned(out) && aligned(in);
  const auto launch = [&]<typename T>(const T* /*element*/) {
    if (vectorised) {
      launch_fold(Folding<T, kWidth>{fn, out, in, out_type, count, step, walk}, stream, where);
    } else {
      launch_fold(Folding<T, 1>{fn, out, in, out_type, count, step, walk}, stream, where);
    }
  };
  switch (in_type) {
    case DType::kFp32:
      return launch(static_cast<const float*>(nullptr));
    case DType::kFp16:
      return launch(static_cast<const __half*>(nullptr));
    case DType::kBf16:
      return launch(static_cast<const __nv_bfloat16*>(nullptr));
    case DType::kInt32:
    case DType::kInt64:
      break;
  }
  throw Error(Code::kInternal, std::string(where) + ": a reduction of integers");
}

}  // namespace hirgen
