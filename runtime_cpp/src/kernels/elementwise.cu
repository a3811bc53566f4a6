// Elementwise kernels. Most functors handle W adjacent elements per step. W is more than 1 only if
// these elements are aligned and contiguous in every view (in a gather: in the result and table).
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"
#include "kernels/transpose.hpp"

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

/// Copies elements without conversion. A conversion to fp32 and back may change large integers, and
/// infinities of fp8.
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

/// Copies W adjacent elements of the row that an id names, or zeros if the table has no such row. T
/// has the size of an element.
template <typename T, int W, typename Id>
struct GatherKernel {
  T* out;
  const T* table;
  const Id* ids;
  const float* first;  ///< subtracted from ids: the table's first row; may be null
  int64_t rows, step;  ///< number of the table's rows; elements between them
  Walk<4> walk;        ///< over the elements of out, table, ids and first

  HG_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at[4];
    walk.offsets(i * W, at);
    const int64_t from = first == nullptr ? 0 : static_cast<int64_t>(first[at[3]]);
    const int64_t row = static_cast<int64_t>(ids[at[2]]) - from;
    Pack<T, W> pack{};
    if (row >= 0 && row < rows) pack = pack_at<W>(table + at[1] + row * step);
    store_pack(out + at[0], pack);
  }
};

/// Whether elements i W to (i + 1) W - 1, for every i, are adjacent and aligned in the result and
/// the table, and have the same id.
template <int W>
bool gathers_packs(const Walk<4>& walk, int64_t step, const void* out, const void* table) {
  const int last = walk.axes - 1;
  bool packs =
      last >= 0 && walk.extent[last] % W == 0 && step % W == 0 && aligned(out) && aligned(table);
  for (int v = 0; packs && v < 4; ++v) {
    packs = walk.stride[v][last] == (v < 2 ? 1 : 0);
    for (int d = 0; v < 2 && d < last; ++d) packs = packs && walk.stride[v][d] % W == 0;
  }
  return packs;
}

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

void launch_gather(void* out, const Strided& out_view, const void* table, const Strided& table_view,
                   DType type, const void* ids, const Strided& ids_view, DType ids_type,
                   const float* first, const Strided& first_view, cudaStream_t stream,
                   const char* where) {
  const auto walk = walk_over<4>({&out_view, &table_view, &ids_view, &first_view}, 0, where);
  const int64_t rows = table_view.extent[0], step = table_view.stride[0], n = walk.elements();
  const auto launch = [&]<typename T, typename Id>(const T* /*element*/, const Id* numbers) {
    constexpr int kPacked = 16 / sizeof(T);
    const auto by = [&]<int W>(const Pack<T, W>* /*pack*/) {
      parallel_for(n / W, stream, where,
                   GatherKernel<T, W, Id>{static_cast<T*>(out), static_cast<const T*>(table),
                                          numbers, first, rows, step, walk});
    };
    if (gathers_packs<kPacked>(walk, step, out, table))
      return by(static_cast<const Pack<T, kPacked>*>(nullptr));
    by(static_cast<const Pack<T, 1>*>(nullptr));
  };
  const auto of_size = [&]<typename T>(const T* element) {
    if (ids_type == DType::kInt64) return launch(element, static_cast<const int64_t*>(ids));
    launch(element, static_cast<const int32_t*>(ids));
  };
  switch (size_of(type)) {
    case 1:
      return of_size(static_cast<const uint8_t*>(nullptr));
    case 2:
      return of_size(static_cast<const uint16_t*>(nullptr));
    case 4:
      return of_size(static_cast<const uint32_t*>(nullptr));
    default:
      return of_size(static_cast<const uint64_t*>(nullptr));
  }
}

void launch_unary(UnaryFn fn, void* out, DType out_type, const Strided& out_view, const void* in,
                  DType in_type, const Strided& in_view, cudaStream_t stream, const char* where) {
  const auto walk = walk_over<2>({&out_view, &in_view}, -1, where);
  if (fn.kind == UnaryFn::kCopy && in_type == out_type) {
    const auto transposes = [&]<typename T>(T /*element*/) {
      return transpose(static_cast<T*>(out), static_cast<const T*>(in), walk, stream, where);
    };
    const size_t bytes = size_of(in_type);
    if (bytes == 1 && transposes(uint8_t{})) return;
    if (bytes == 2 && transposes(uint16_t{})) return;
    if (bytes == 4 && transposes(uint32_t{})) return;
  }
#define HG_MOVE(enumerator, name, element, ...) \
  if (out_type == DType::enumerator) return move<element>(out, in, walk, stream, where);
  if (fn.kind == UnaryFn::kCopy && in_type == out_type) {
    HG_INTEGER_TYPES(HG_MOVE) HG_SHORT_TYPES(HG_MOVE)
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
