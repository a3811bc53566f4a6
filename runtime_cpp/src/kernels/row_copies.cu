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

/// A RowCopy with distances and row lengths in bytes. A row has per_row segments. The last one has
/// what the others leave, up to half as much again. The segments are numbered over all rows of all
/// matrices.
struct Rows {
  char* out;
  const char* in;
  int64_t out_row, in_row, out_batch, in_batch;
  int64_t rows, bytes, per_row, segments;
  const char* end;  ///< of the last row of the operand

  HG_HOST_DEVICE void find(int64_t segment, char** to, const char** from, int64_t* size) const {
    const int64_t row = segment / per_row, first = segment % per_row * kSegment;
    const int64_t matrix = row / rows, r = row % rows;
    *to = out + matrix * out_batch + r * out_row + first;
    *from = in + matrix * in_batch + r * in_row + first;
    *size = segment % per_row == per_row - 1 ? bytes - first : kSegment;
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
            0,
            nullptr};
  rows.end =
      rows.in + (copy.batch - 1) * rows.in_batch + (rows.rows - 1) * rows.in_row + rows.bytes;
  rows.per_row = std::max((rows.bytes + kSegment / 2) / kSegment, int64_t{1});
  rows.segments = rows.per_row * copy.rows * copy.batch;
  return rows;
}

#ifdef __CUDACC__

constexpr int kWarps = 8;

/// The aligned chunks that have the 16 bytes from some address on; `high` is unused if the address
/// is aligned.
struct ChunkPair {
  uint4 low, high;
};

/// Reads the chunks around 16 bytes of an operand that ends at `end`. At its ends, where memory may
/// end, too, reads only these bytes, into `low`, and returns false.
__device__ bool read_around(ChunkPair* pair, const char* from, const char* begin, const char* end) {
  const unsigned past = reinterpret_cast<uintptr_t>(from) % kChunk;
  const char* low = from - past;
  if (past == 0 || (low >= begin && end - low >= 2 * kChunk)) {
    pair->low = *reinterpret_cast<const uint4*>(low);
    if (past != 0) pair->high = *reinterpret_cast<const uint4*>(low + kChunk);
    return true;
  }
  for (size_t i = 0; i < kChunk / 2; ++i) {
    reinterpret_cast<uint16_t*>(&pair->low)[i] = reinterpret_cast<const uint16_t*>(from)[i];
  }
  return false;
}

/// Returns the 16 bytes of a pair from byte number `past` on.
__device__ uint4 cut(const ChunkPair& pair, unsigned past) {
  const uint4 &a = pair.low, &b = pair.high;
  uint32_t words[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  for (const unsigned by : {1U, 2U}) {
    if ((past / 4 & by) == 0) continue;
#pragma unroll
    for (unsigned i = 0; i + by < 8; ++i) words[i] = words[i + by];
  }
  uint32_t out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = __funnelshift_r(words[i], words[i + 1], past % 4 * 8);
  return {out[0], out[1], out[2], out[3]};
}

/// Copies a segment of an operand that has the bytes from `begin` to `end`. The first and the last
/// elements, outside the aligned chunks of the result, are copied one per thread. A thread issues
/// the reads of four chunks before it writes them.
__device__ void copy_segment(char* to, const char* from, int64_t size, int lane, const char* begin,
                             const char* end) {
  constexpr int kSteps = 4;
  const int64_t first = -reinterpret_cast<uintptr_t>(to) % kChunk;
  const int64_t ahead = first < size ? first : size;
  const int64_t chunks = (size - ahead) / kChunk, done = ahead + chunks * kChunk;
  const int64_t edge = 2 * lane < ahead ? 2 * lane : done + 2 * lane - ahead;
  uint16_t element = 0;
  if (edge < size) element = *reinterpret_cast<const uint16_t*>(from + edge);
  const unsigned past = reinterpret_cast<uintptr_t>(from + ahead) % kChunk;
  for (int64_t c = lane; c < chunks; c += kSteps * 32) {
    ChunkPair pairs[kSteps];
    unsigned skip[kSteps];
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (c + i * 32 >= chunks) continue;
      const char* at = from + ahead + (c + i * 32) * kChunk;
      skip[i] = read_around(&pairs[i], at, begin, end) ? past : 0;
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (c + i * 32 >= chunks) continue;
      *reinterpret_cast<uint4*>(to + ahead + (c + i * 32) * kChunk) = cut(pairs[i], skip[i]);
    }
  }
  if (edge < size) *reinterpret_cast<uint16_t*>(to + edge) = element;
}

/// Row y of the grid is copy y.
__global__ void __launch_bounds__(32 * kWarps)
    row_copies_kernel(const __grid_constant__ RowList list) {
  await_earlier_kernels();
  release_next_kernel();
  const Rows& rows = list.copies[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t s = static_cast<int64_t>(blockIdx.x) * kWarps + warp; s < rows.segments; s += step) {
    char* to = nullptr;
    const char* from = nullptr;
    int64_t size = 0;
    rows.find(s, &to, &from, &size);
    copy_segment(to, from, size, lane, rows.in, rows.end);
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
  launch_early(row_copies_kernel, dim3(blocks, static_cast<unsigned>(count)), dim3(32 * kWarps), 1,
               stream, where, list);
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
