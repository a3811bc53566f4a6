// Local reductions. A product's partial results are summed here, so this must run at the
// speed of memory: every thread has several 16-byte reads under way before it adds.
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

HG_HOST_DEVICE inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Folds `count` slices, `step` elements apart, into one. A thread owns V places of W
/// elements, `pitch` places apart, and reads N slices of each at once. Places and slices
/// past the end are read again from the last one, so that no read waits for a branch,
/// and are not used.
template <typename T, int W, int N, int V>
struct ReduceKernel {
  ReduceFn fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  int64_t places, pitch;
  Walk<2> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[V][2];
    float sum[V][W];
    for (int v = 0; v < V; ++v) {
      walk.offsets(least(i + v * pitch, places - 1) * W, at[v]);
      for (int j = 0; j < W; ++j) sum[v][j] = identity_of(fn);
    }
    for (int64_t r = 0; r < count; r += N) fold(r, at, sum);
    for (int v = 0; v < V; ++v) {
      if (i + v * pitch < places) store(out, out_type, at[v][0], sum[v]);
    }
  }

  /// Adds slices r..r+N-1.
  HG_HOST_DEVICE void fold(int64_t r, const int64_t (&at)[V][2], float (&sum)[V][W]) const {
    Pack<T, W> part[V][N];
    for (int v = 0; v < V; ++v) {
      for (int k = 0; k < N; ++k) {
        const T* slice = static_cast<const T*>(in) + at[v][1] + least(r + k, count - 1) * step;
        part[v][k] = *reinterpret_cast<const Pack<T, W>*>(slice);
      }
    }
    for (int k = 0; k < N && r + k < count; ++k) {
      for (int v = 0; v < V; ++v) {
        float x[W];
        for (int j = 0; j < W; ++j) x[j] = widen(part[v][k].value[j]);
        apply(fn, sum[v], x);
      }
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

  template <typename T, int W, int N, int V>
  void launch() const {
    const int64_t places = walk.elements() / W;
    const int64_t pitch = (places + V - 1) / V;
    parallel_for(pitch, stream, where,
                 ReduceKernel<T, W, N, V>{fn, out, in, out_type, count, step, places, pitch, walk});
  }

  /// Two partial results are too few reads for one place, so a thread takes two places.
  template <typename T>
  void launch_as() const {
    const bool vectorised =
        walk.divides(kWidth) && step % kWidth == 0 && aligned(out) && aligned(in);
    if (!vectorised) return launch<T, 1, 4, 1>();
    if (count <= 2) return launch<T, kWidth, 2, 2>();
    launch<T, kWidth, 4, 1>();
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
