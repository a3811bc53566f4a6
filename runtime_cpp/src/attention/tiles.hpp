// Code that the tiled kernels share: blocks of rows, columns of tiles, launches and head sizes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "attention/method.hpp"
#include "attention/shape.hpp"
#include "attention/shared_rows.hpp"
#include "hirgen/error.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen::tiles {

/// log2(e), to compute e^x as 2^(x log2(e)).
constexpr float kLog2e = 1.44269504088896341F;

/// The batch and the head of a block, and the first of its kBlockRows rows.
struct BlockIndex {
  int64_t batch, head, row;

  /// The i-th block of `heads` heads with `rows` rows. The last rows of a head come first: under a
  /// causal mask, the last queries see the most keys.
  HG_HOST_DEVICE static BlockIndex of(int64_t i, int64_t heads, int64_t rows) {
    const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows, head = i / blocks;
    return {head / heads, head % heads, (blocks - 1 - i % blocks) * kBlockRows};
  }
  static int64_t count(int64_t batch, int64_t heads, int64_t rows) {
    return batch * heads * ((rows + kBlockRows - 1) / kBlockRows);
  }
};

/// The columns of a tile that are in a row's range: keys that a query sees, or queries that see a
/// key.
template <int N>
struct SeenColumns {
  int begin, end;

  /// For a tile whose first column is at position `first` among the keys or queries.
  HG_DEVICE SeenColumns(const RowRange& seen, int64_t first)
      : begin(clamped(seen.begin - first)), end(clamped(seen.end - first)) {}
  HG_DEVICE bool all() const { return begin == 0 && end == N; }
  HG_DEVICE bool has(int column) const { return column >= begin && column < end; }

 private:
  HG_DEVICE static int clamped(int64_t x) { return x < 0 ? 0 : x > N ? N : static_cast<int>(x); }
};

/// The rows of one head of a tensor.
template <typename T>
HG_HOST_DEVICE GlobalRows<T> head_of(T* data, const AttentionStride& stride, int64_t batch,
                                     int64_t head, int64_t rows, const AttentionShape& shape,
                                     bool aligned) {
  return {data + batch * stride.batch + head * stride.head, stride.row, rows,
          static_cast<int>(shape.head_size), aligned};
}

/// Writes a warp's fragment to the rows from `first` on and columns from `column` on, as far as
/// they exist.
template <typename T, int N>
HG_DEVICE void write_rows(const GlobalRows<T>& to, int64_t first, int column,
                          const Fragment<N>& x) {
  HG_UNROLL
  for (int slot = 0; slot < kSlots; ++slot) {
    const int64_t row = first + row_of(slot);
    if (row >= to.rows) continue;
    HG_UNROLL
    for (int j = 0; j < Fragment<N>::kColumns; ++j) {
      if (column + column_of(j) < to.columns) {
        narrow(x.value[slot][j], to.at(row)[column + column_of(j)]);
      }
    }
  }
}

#ifdef __CUDACC__

template <typename Kernel>
__global__ void __launch_bounds__(kWarps* kLanes, 1)
    tiles_kernel(const __grid_constant__ Kernel kernel) {
  extern __shared__ __align__(128) char memory[];
  kernel(blockIdx.x, memory);
}

/// Allows the kernel its kBytes of shared memory on the current device. Call this before the first
/// launch.
template <typename Kernel>
void prepare_tiles(const char* where) {
  HG_CHECK(cudaFuncSetAttribute(tiles_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(Kernel::kBytes)),
           where);
}

/// Enqueues kernel(block, shared memory) for `blocks` blocks.
template <typename Kernel>
void launch_tiles(const Kernel& kernel, int64_t blocks, cudaStream_t stream, const char* where) {
  const TracedCall traced(TraceKind::kKernel, "attention", stream, where);
  tiles_kernel<<<grid_of(blocks, where), kWarps * kLanes, Kernel::kBytes, stream>>>(kernel);
  HG_CHECK(cudaGetLastError(), where);
}

/// Calls visit() with the smallest head size that has kernels and is at least `size`. The kernels
/// pad heads with zeros.
template <typename Visit>
void visit_size(int64_t size, Visit visit) {
  if (size <= 64) return visit(std::integral_constant<int, 64>{});
  if (size <= 128) return visit(std::integral_constant<int, 128>{});
  visit(std::integral_constant<int, kMostHeadSize>{});
}

#else

template <typename Kernel>
void prepare_tiles(const char* /*where*/) {}

template <typename Kernel>
void launch_tiles(const Kernel& kernel, int64_t blocks, cudaStream_t stream, const char* where) {
  const TracedCall traced(TraceKind::kKernel, "attention", stream, where);
  host_position.store(where, std::memory_order_relaxed);
  const auto loop = [kernel, blocks] {
    std::vector<double> memory(Kernel::kBytes / sizeof(double) + 1);
    for (int64_t i = 0; i < blocks; ++i) kernel(i, reinterpret_cast<char*>(memory.data()));
  };
  hirgen_cpu_launch(stream, loop, where);
}

template <typename Visit>
void visit_size(int64_t /*size*/, Visit visit) {
  visit(std::integral_constant<int, kMostHeadSize>{});
}

#endif

/// Calls visit() with an element of the shape's type and the head size of the kernels for the
/// shape.
template <typename Visit>
void visit_kernels(const AttentionShape& shape, Visit visit) {
  visit_size(shape.head_size, [&](auto size) {
    switch (shape.dtype) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return visit(element{}, size);
      HG_NUMBER_TYPES(HG_CASE)
#undef HG_CASE
      default:
        return;  // attention has neither integers nor fp8
    }
  });
}

}  // namespace hirgen::tiles
