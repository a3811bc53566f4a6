// Copies of rows at memory bandwidth, whatever their alignment. A warp copies a segment of a row,
// 16 bytes per thread and step.
#include <algorithm>
#include <string>

#include "hirgen/error.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/row_copies.hpp"

namespace hirgen {
namespace {

constexpr int64_t kChunk = 16;                 // bytes that a thread copies in a step
constexpr int64_t kSegment = 32 * 8 * kChunk;  // bytes of a row that a warp copies

/// A RowCopy with distances and row lengths in bytes. A row has per_row segments. The segments are
/// numbered over all rows of all matrices.
struct Rows {
  char* out;
  const char* in;
  int64_t out_row, in_row, out_batch, in_batch;
  int64_t rows, bytes, per_row, segments;

  HG_HOST_DEVICE void find(int64_t segment, char** to, const char** from, int64_t* size) const {
    const int64_t row = segment / per_row, first = segment % per_row * kSegment;
    const int64_t matrix = row / rows, r = row % rows;
    *to = out + matrix * out_batch + r * out_row + first;
    *from = in + matrix * in_batch + r * in_row + first;
    *size = bytes - first < kSegment ? bytes - first : kSegment;
  }
};

struct RowList {
  Rows copies[kMostRowCopies];
  int count;
};

Rows in_bytes(const RowCopy& copy) {
  const auto element = static_cast<int64_t>(copy.element);
  Rows rows{static_cast<char*>(copy.out),
            static_cast<const char*>(copy.in),
            copy.out_row * element,
            copy.in_row * element,
            copy.out_batch * element,
            copy.in_batch * element,
            copy.rows,
            copy.columns * element,
            0,
            0};
  rows.per_row = (rows.bytes + kSegment - 1) / kSegment;
  rows.segments = rows.per_row * copy.rows * copy.batch;
  return rows;
}

#ifdef __CUDACC__

constexpr int kWarps = 8;

template <typename T>
__device__ void read_as(uint4* chunk, const char* from) {
#pragma unroll
  for (size_t i = 0; i < kChunk / sizeof(T); ++i) {
    reinterpret_cast<T*>(chunk)[i] = reinterpret_cast<const T*>(from)[i];
  }
}

/// Reads 16 bytes from an address that is 2 bytes after a multiple of 4.
__device__ void read_across(uint4* chunk, const char* from) {
  const auto* words = reinterpret_cast<const uint32_t*>(from - 2);
  uint32_t last = words[0];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t next = words[i + 1];
    reinterpret_cast<uint32_t*>(chunk)[i] = __funnelshift_r(last, next, 16);
    last = next;
  }
}

__device__ void read_chunk(uint4* chunk, const char* from) {
  const auto at = reinterpret_cast<uintptr_t>(from);
  if (at % 16 == 0) return read_as<uint4>(chunk, from);
  if (at % 8 == 0) return read_as<uint2>(chunk, from);
  if (at % 4 == 0) return read_as<uint32_t>(chunk, from);
  read_across(chunk, from);
}

/// Copies elements of 2 bytes, one per thread and step.
__device__ void copy_few(char* to, const char* from, int64_t size, int lane) {
  for (int64_t at = 2 * lane; at < size; at += 2 * 32) {
    *reinterpret_cast<uint16_t*>(to + at) = *reinterpret_cast<const uint16_t*>(from + at);
  }
}

/// Copies a segment: first the elements before the first aligned chunk of the result, then chunks,
/// then the rest. A thread issues all reads of its chunks before it writes.
__device__ void copy_segment(char* to, const char* from, int64_t size, int lane) {
  constexpr int kSteps = static_cast<int>(kSegment / (32 * kChunk));
  const int64_t first = -reinterpret_cast<uintptr_t>(to) % kChunk;
  const int64_t ahead = first < size ? first : size;
  copy_few(to, from, ahead, lane);
  // A read across words ends 2 bytes after its chunk, where memory may end.
  const int64_t across = reinterpret_cast<uintptr_t>(from + ahead) % 4;
  const int64_t chunks = (size - ahead - across) / kChunk;
  uint4 chunk[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (i * 32 + lane < chunks) read_chunk(&chunk[i], from + ahead + (i * 32 + lane) * kChunk);
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (i * 32 + lane < chunks) {
      *reinterpret_cast<uint4*>(to + ahead + (i * 32 + lane) * kChunk) = chunk[i];
    }
  }
  const int64_t done = ahead + chunks * kChunk;
  copy_few(to + done, from + done, size - done, lane);
}

/// Row y of the grid is copy y.
__global__ void __launch_bounds__(32 * kWarps)
    row_copies_kernel(const __grid_constant__ RowList list) {
  const Rows& rows = list.copies[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t s = static_cast<int64_t>(blockIdx.x) * kWarps + warp; s < rows.segments; s += step) {
    char* to = nullptr;
    const char* from = nullptr;
    int64_t size = 0;
    rows.find(s, &to, &from, &size);
    copy_segment(to, from, size, lane);
  }
}

#endif

template <typename T>
struct ScaleRows {
  T* c;
  int64_t n;
  const float *rows, *columns;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    narrow(widen(c[i]) * rows[i / n] * columns[i % n], c[i]);
  }
};

}  // namespace

void launch_scale_rows(void* c, DType type, int64_t m, int64_t n, const float* rows,
                       const float* columns, cudaStream_t stream, const char* where) {
  const auto launch = [&]<typename T>(T* elements) {
    parallel_for(m * n, stream, where, ScaleRows<T>{elements, n, rows, columns});
  };
  if (type == DType::kBf16) return launch(static_cast<__nv_bfloat16*>(c));
  if (type == DType::kFp32) return launch(static_cast<float*>(c));
  throw Error(Code::kInternal, std::string(where) + ": scales of rows in a result of another type");
}

void launch_row_copies(const RowCopy* first, size_t count, cudaStream_t stream, const char* where) {
  RowList list{};
  list.count = static_cast<int>(count);
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    list.copies[i] = in_bytes(first[i]);
    most = std::max(most, list.copies[i].segments);
  }
  if (most == 0) return;
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
#ifdef __CUDACC__
  constexpr int64_t kMostBlocks = 132 * 8;
  const auto blocks = static_cast<unsigned>(std::min((most + kWarps - 1) / kWarps, kMostBlocks));
  row_copies_kernel<<<dim3(blocks, static_cast<unsigned>(count)), 32 * kWarps, 0, stream>>>(list);
  HG_CHECK(cudaGetLastError(), where);
#else
  host_position.store(where, std::memory_order_relaxed);
  const auto copy = [list] {
    for (const Rows* rows = list.copies; rows != list.copies + list.count; ++rows) {
      for (int64_t s = 0; s < rows->segments; ++s) {
        char* to = nullptr;
        const char* from = nullptr;
        int64_t size = 0;
        rows->find(s, &to, &from, &size);
        for (int64_t i = 0; i < size; ++i) to[i] = from[i];
      }
    }
  };
  hirgen_cpu_launch(stream, copy, where);
#endif
}

}  // namespace hirgen
