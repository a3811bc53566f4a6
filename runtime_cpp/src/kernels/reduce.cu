// Local reductions. Partial sums of GEMMs are added here, so this must run at the
// speed of memory: every thread has several 16-byte reads under way before it adds.
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

HG_HOST_DEVICE inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Folds `count` slices, `step` elements apart, into one. A thread owns W elements and
/// reads N slices of them at once. Slices past the end are read again from the last one,
/// so that no read waits for a branch, and are not used.
template <typename T, int W, int N>
struct ReduceKernel {
  ReduceFn fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  Walk<2> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    const T* slices = static_cast<const T*>(in) + at[1];
    float sum[W];
    for (int j = 0; j < W; ++j) sum[j] = identity_of(fn);
    for (int64_t r = 0; r < count; r += N) fold(r, slices, sum);
    store(out, out_type, at[0], sum);
  }

  /// Adds slices r..r+N-1.
  HG_HOST_DEVICE void fold(int64_t r, const T* slices, float (&sum)[W]) const {
    Pack<T, W> part[N];
    for (int k = 0; k < N; ++k) {
      part[k] = *reinterpret_cast<const Pack<T, W>*>(slices + least(r + k, count - 1) * step);
    }
    for (int k = 0; k < N && r + k < count; ++k) {
      float x[W];
      for (int j = 0; j < W; ++j) x[j] = widen(part[k].value[j]);
      apply(fn, sum, x);
    }
  }
};

/// What one launch is about; `in` has elements of the type that the template says.
struct Reduction {
  ReduceFn fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  Walk<2> walk;
  cudaStream_t stream;
  const char* where;

  template <typename T, int W, int N>
  void launch() const {
    parallel_for(walk.elements() / W, stream, where,
                 ReduceKernel<T, W, N>{fn, out, in, out_type, count, step, walk});
  }

  /// More reads at once than four cost registers, and with them threads, for no gain.
  template <typename T>
  void launch_as() const {
    const bool vectorised =
        walk.divides(kWidth) && step % kWidth == 0 && aligned(out) && aligned(in);
    if (!vectorised) return launch<T, 1, 4>();
    if (count <= 2) return launch<T, kWidth, 2>();
    launch<T, kWidth, 4>();
  }
};

}  // namespace

void launch_reduce(ReduceFn fn, int axis, void* out, DType out_type, const Strided& out_view,
                   const void* in, DType in_type, const Strided& in_view, cudaStream_t stream,
                   const char* where) {
  const Reduction reduction{fn,
                            out,
                            in,
                            out_type,
                            in_view.extent[axis],
                            in_view.stride[axis],
                            walk_over<2>({&out_view, &in_view}, axis, where),
                            stream,
                            where};
  switch (in_type) {
    case DType::kFp32:
      return reduction.launch_as<float>();
    case DType::kFp16:
      return reduction.launch_as<__half>();
    case DType::kBf16:
      return reduction.launch_as<__nv_bfloat16>();
  }
}

}  // namespace hirgen
