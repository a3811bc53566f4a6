// Elementwise kernels. Each has one functor, which handles W elements at a time: eight
// with 16-byte accesses where every view allows it, one otherwise.
#include <array>
#include <string>

#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

constexpr int kWidth = 8;  ///< elements of a vectorised access: 16 bytes of a 16-bit type

/// The strides of `operand`, with broadcast axes at 0, against the extents of `out`.
std::array<int64_t, kMaxAxes> strides_against(const Strided& out, const Strided& operand,
                                              const char* where) {
  if (operand.axes != out.axes) {
    throw Error(Code::kInternal, std::string(where) + ": views of " + std::to_string(out.axes) +
                                     " and " + std::to_string(operand.axes) + " axes");
  }
  std::array<int64_t, kMaxAxes> strides{};
  for (int d = 0; d < out.axes; ++d) {
    if (operand.extent[d] != 1) strides[d] = operand.stride[d];
  }
  return strides;
}

/// The common walk over `views`, the first of which gives the extents; `skip` is left out.
template <int N>
Walk<N> walk_over(const std::array<const Strided*, N>& views, int skip, const char* where) {
  std::array<std::array<int64_t, kMaxAxes>, N> strides;
  for (int v = 0; v < N; ++v) strides[v] = strides_against(*views[0], *views[v], where);
  Walk<N> walk;
  for (int d = 0; d < views[0]->axes; ++d) {
    if (d == skip) continue;
    std::array<int64_t, N> step;
    for (int v = 0; v < N; ++v) step[v] = strides[v][d];
    walk.append(views[0]->extent[d], step);
  }
  return walk;
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <int W>
struct UnaryKernel {
  UnaryFn fn;
  void* out;
  const void* in;
  DType out_type, in_type;
  Walk<2> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    float x[W];
    load(in, in_type, at[1], x);
    apply(fn, x);
    store(out, out_type, at[0], x);
  }
};

template <int W>
struct BinaryKernel {
  BinaryFn fn;
  void* out;
  const void *a, *b;
  DType out_type, in_type;
  Walk<3> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[3];
    walk.offsets(i * W, at);
    float x[W], y[W];
    load(a, in_type, at[1], x);
    load(b, in_type, at[2], y);
    apply(fn, x, y);
    store(out, out_type, at[0], x);
  }
};

/// Folds `count` slices, `step` elements apart, into one. A product's partial results
/// are summed by this kernel, so it is the one that must run at memory speed: each
/// thread has kInFlight reads under way before it adds the first.
template <typename T, int W>
struct ReduceKernel {
  static constexpr int kInFlight = 8;
  ReduceFn fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  Walk<2> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    const T* slice = static_cast<const T*>(in) + at[1];
    float sum[W];
    for (int j = 0; j < W; ++j) sum[j] = identity_of(fn);
    int64_t r = 0;
    for (; r + kInFlight <= count; r += kInFlight) fold<kInFlight>(slice + r * step, sum);
    if (count - r >= 4) {
      fold<4>(slice + r * step, sum);
      r += 4;
    }
    for (; r < count; ++r) fold<1>(slice + r * step, sum);
    store(out, out_type, at[0], sum);
  }

  template <int N>
  HG_HOST_DEVICE void fold(const T* slice, float (&sum)[W]) const {
    Pack<T, W> part[N];
    for (int k = 0; k < N; ++k) part[k] = *reinterpret_cast<const Pack<T, W>*>(slice + k * step);
    for (int k = 0; k < N; ++k) {
      float x[W];
      for (int j = 0; j < W; ++j) x[j] = widen(part[k].value[j]);
      apply(step_of(fn), sum, x);
    }
  }
};

/// Launches the reduction of elements of type T.
template <typename T>
void reduce_as(ReduceFn fn, void* out, DType out_type, const void* in, int64_t count, int64_t step,
               const Walk<2>& walk, cudaStream_t stream, const char* where) {
  const int64_t n = walk.elements();
  if (walk.divides(kWidth) && step % kWidth == 0 && aligned(out) && aligned(in)) {
    parallel_for(n / kWidth, stream, where,
                 ReduceKernel<T, kWidth>{fn, out, in, out_type, count, step, walk});
  } else {
    parallel_for(n, stream, where, ReduceKernel<T, 1>{fn, out, in, out_type, count, step, walk});
  }
}

}  // namespace

void launch_unary(UnaryFn fn, void* out, DType out_type, const Strided& out_view, const void* in,
                  DType in_type, const Strided& in_view, cudaStream_t stream, const char* where) {
  const auto walk = walk_over<2>({&out_view, &in_view}, -1, where);
  const int64_t n = walk.elements();
  if (walk.divides(kWidth) && aligned(out) && aligned(in)) {
    parallel_for(n / kWidth, stream, where,
                 UnaryKernel<kWidth>{fn, out, in, out_type, in_type, walk});
  } else {
    parallel_for(n, stream, where, UnaryKernel<1>{fn, out, in, out_type, in_type, walk});
  }
}

void launch_binary(BinaryFn fn, void* out, DType out_type, const Strided& out_view, const void* a,
                   const Strided& a_view, const void* b, const Strided& b_view, DType in_type,
                   cudaStream_t stream, const char* where) {
  const auto walk = walk_over<3>({&out_view, &a_view, &b_view}, -1, where);
  const int64_t n = walk.elements();
  if (walk.divides(kWidth) && aligned(out) && aligned(a) && aligned(b)) {
    parallel_for(n / kWidth, stream, where,
                 BinaryKernel<kWidth>{fn, out, a, b, out_type, in_type, walk});
  } else {
    parallel_for(n, stream, where, BinaryKernel<1>{fn, out, a, b, out_type, in_type, walk});
  }
}

void launch_reduce(ReduceFn fn, int axis, void* out, DType out_type, const Strided& out_view,
                   const void* in, DType in_type, const Strided& in_view, cudaStream_t stream,
                   const char* where) {
  const auto walk = walk_over<2>({&out_view, &in_view}, axis, where);
  const int64_t count = in_view.extent[axis];
  const int64_t step = in_view.stride[axis];
  switch (in_type) {
    case DType::kFp32:
      return reduce_as<float>(fn, out, out_type, in, count, step, walk, stream, where);
    case DType::kFp16:
      return reduce_as<__half>(fn, out, out_type, in, count, step, walk, stream, where);
    case DType::kBf16:
      return reduce_as<__nv_bfloat16>(fn, out, out_type, in, count, step, walk, stream, where);
  }
}

}  // namespace hirgen
