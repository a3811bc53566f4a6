// Elementwise kernels. Each has one functor, which handles W elements per step: eight with 16-byte
// accesses if every view allows it, else one.
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

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

/// For elements that a conversion to fp32 and back may change: large integers, and infinities of 8
/// bits.
template <typename T, int W>
struct MoveKernel {
  T* out;
  const T* in;
  Walk<2> walk;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    pack_at<W>(out + at[0]) = pack_at<W>(in + at[1]);
  }
};

template <typename T>
void move(void* out, const void* in, const Walk<2>& walk, cudaStream_t stream, const char* where) {
  auto* const to = static_cast<T*>(out);
  const auto* const from = static_cast<const T*>(in);
  if (sizeof(T) == 1 && walk.divides(kWidth) && aligned(out) && aligned(in)) {
    parallel_for(walk.elements() / kWidth, stream, where, MoveKernel<T, kWidth>{to, from, walk});
  } else {
    parallel_for(walk.elements(), stream, where, MoveKernel<T, 1>{to, from, walk});
  }
}

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

struct PositionsKernel {
  float* out;
  int64_t first;

  HG_HOST_DEVICE void operator()(int64_t i) const { out[i] = static_cast<float>(first + i); }
};

struct DelayKernel {
  int64_t nanoseconds;

  HG_HOST_DEVICE void operator()(int64_t /*i*/) const {
#ifdef __CUDA_ARCH__
    uint64_t now = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    for (const uint64_t end = now + static_cast<uint64_t>(nanoseconds); now < end;) {
      __nanosleep(100);
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    }
#endif
  }
};

}  // namespace

void launch_delay(int64_t microseconds, cudaStream_t stream, const char* where) {
  parallel_for(1, stream, where, DelayKernel{microseconds * 1000});
}

void launch_positions(float* out, int64_t first, int64_t elements, cudaStream_t stream,
                      const char* where) {
  parallel_for(elements, stream, where, PositionsKernel{out, first});
}

void launch_unary(UnaryFn fn, void* out, DType out_type, const Strided& out_view, const void* in,
                  DType in_type, const Strided& in_view, cudaStream_t stream, const char* where) {
  const auto walk = walk_over<2>({&out_view, &in_view}, -1, where);
#define HG_MOVE(enumerator, name, element, ...) \
  if (out_type == DType::enumerator) return move<element>(out, in, walk, stream, where);
  HG_INTEGER_TYPES(HG_MOVE)
  if (fn.kind == UnaryFn::kCopy && in_type == out_type) {
    HG_SHORT_TYPES(HG_MOVE)
  }
#undef HG_MOVE
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

}  // namespace hirgen
