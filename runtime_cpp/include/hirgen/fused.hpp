// Launches of fused kernels. An emitted program has one for each group of elementwise operations
// and reductions along rows (NAME_kernels.cu): a struct of its operands, whose call operator says
// what one row (row.hpp) of the result is. Include this from .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "hirgen/error.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/row.hpp"

namespace hirgen {

/// How the dense operands of a kernel may be read: W elements at once, if they are aligned.
template <int W, int Operands>
struct Accesses {
  static constexpr int kWidth = W;
  /// Reads of each operand that a thread has under way: the fewer operands, the more.
  static constexpr int kAtOnce = Operands <= 2 ? 4 : Operands <= 4 ? 2 : 1;
  bool aligned;
};

/// The accesses of a kernel with these operands: 16 bytes of the smallest element type.
template <typename... T>
auto accesses(T*... operands) {
  constexpr int kWidth = 16 / static_cast<int>(std::min({sizeof(T)...}));
  return Accesses<kWidth, sizeof...(T)>{((reinterpret_cast<uintptr_t>(operands) % 16 == 0) && ...)};
}

#ifdef __CUDACC__

/// An SM then has registers for this many threads at least: fewer have too few reads under way.
constexpr int kThreadsOfSm = 1024;

template <int T, int Rows, typename Block>
__global__ void __launch_bounds__(T* Rows, kThreadsOfSm / (T * Rows))
    block_kernel(const __grid_constant__ Block block) {
  block(blockIdx.x);
}

/// Enqueues block(i) for i in [0, n), each by T threads for each of `Rows` rows.
template <int T, int Rows, typename Block>
void launch_blocks(int64_t n, const Block& block, cudaStream_t stream, const char* where) {
  if (n <= 0) return;
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
  block_kernel<T, Rows><<<static_cast<unsigned>(n), dim3(T, Rows), 0, stream>>>(block);
  HG_CHECK(cudaGetLastError(), where);
}

/// The threads of a row of so many accesses: they have four each, and blocks are small. An SM then
/// has several, and while one waits for the others of its row, another one reads.
constexpr int row_threads(int64_t chunks) {
  int threads = 32;
  while (threads < 1024 && threads * 4 < chunks) threads *= 2;
  return threads;
}
constexpr int kTileThreads = 256;
constexpr int kStreamedThreads = 512;
/// The most accesses of a thread to a row in registers.
constexpr int64_t kMostChunks = 8;
/// Rows of one warp share a block.
constexpr int rows_of_block(int threads) { return threads == 32 ? 4 : 1; }

HG_HOST_DEVICE inline int64_t row_of_block() {
#ifdef __CUDA_ARCH__
  return threadIdx.y;
#else
  return 0;
#endif
}

#else

template <int T, int Rows, typename Block>
void launch_blocks(int64_t n, const Block& block, cudaStream_t stream, const char* where) {
  parallel_for(n, stream, where, block);
}
constexpr int row_threads(int64_t /*chunks*/) { return 1; }
constexpr int kTileThreads = 1;
constexpr int kStreamedThreads = 1;
constexpr int64_t kMostChunks = 8;
constexpr int rows_of_block(int /*threads*/) { return 1; }
inline int64_t row_of_block() { return 0; }

#endif

/// A tile of C chunks of W elements for each of T threads, of dense operands.
template <typename Body, int W, int C, int T>
struct TileBlock {
  static constexpr int64_t kElements = int64_t{W} * C * T;
  Body body;
  int64_t elements;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t first = block * kElements;
    RegisterRow<W, C, T> row{0, first, elements - first};
    body(row);
  }
};

/// A row of so many columns of dense operands, in registers.
template <typename Body, int W, int C, int T, int64_t Columns>
struct RowBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t rows;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= rows) return;
    RegisterRow<W, C, T> row{index, index * Columns, Columns};
    body(row);
  }
};

/// A row of any operands, W elements at a time. Its extents, the last of which is along the row.
template <typename Body, int W, int T>
struct StreamedBlock {
  Body body;
  int axes;
  int64_t extent[kMaxAxes];

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t columns = extent[axes - 1];
    StreamedRow<W, T> row{block, block * columns, columns, axes - 1};
    for (int d = axes - 2; d >= 0; --d) {
      row.at[d] = block % extent[d];
      block /= extent[d];
    }
    body(row);
  }
};

/// Runs the body on all elements: operands are dense and have as many each.
template <typename Body, int W, int O>
void launch_elements(const Body& body, int64_t elements, Accesses<W, O> accesses,
                     cudaStream_t stream, const char* where) {
  constexpr int kChunks = Accesses<W, O>::kAtOnce;
  const auto launch = [&](auto tile) {
    constexpr int64_t kElements = decltype(tile)::kElements;
    launch_blocks<kTileThreads, 1>((elements + kElements - 1) / kElements, tile, stream, where);
  };
  if (accesses.aligned && elements % W == 0) {
    launch(TileBlock<Body, W, kChunks, kTileThreads>{body, elements});
  } else {
    launch(TileBlock<Body, 1, kChunks, kTileThreads>{body, elements});
  }
}

/// Runs the body on each of `rows` rows: operands are dense and have a row of so many columns for
/// each, one such row, or an element for each row.
template <int64_t Columns, typename Body, int W, int O>
void launch_rows(const Body& body, int64_t rows, Accesses<W, O> accesses, cudaStream_t stream,
                 const char* where) {
  if constexpr (Columns % W == 0) {
    constexpr int64_t kAccesses = Columns / W;
    constexpr int kThreads = row_threads(kAccesses), kRows = rows_of_block(kThreads);
    constexpr int64_t kChunks = (kAccesses + kThreads - 1) / kThreads;
    if (accesses.aligned) {
      if constexpr (kChunks <= kMostChunks) {
        using Block = RowBlock<Body, W, static_cast<int>(kChunks), kThreads, Columns>;
        return launch_blocks<kThreads, kRows>((rows + kRows - 1) / kRows, Block{body, rows}, stream,
                                              where);
      } else {
        using Block = StreamedBlock<Body, W, kStreamedThreads>;
        return launch_blocks<kStreamedThreads, 1>(rows, Block{body, 2, {rows, Columns}}, stream,
                                                  where);
      }
    }
  }
  using Block = StreamedBlock<Body, 1, kStreamedThreads>;
  launch_blocks<kStreamedThreads, 1>(rows, Block{body, 2, {rows, Columns}}, stream, where);
}

/// Runs the body on rows of operands that are not dense; the last extent is that of a row.
template <typename Body>
void launch_scattered(const Body& body, std::initializer_list<int64_t> extents, cudaStream_t stream,
                      const char* where) {
  StreamedBlock<Body, 1, kStreamedThreads> block{body, 0, {}};
  int64_t rows = 1;
  for (const int64_t extent : extents) {
    if (block.axes > 0) rows *= block.extent[block.axes - 1];
    block.extent[block.axes++] = extent;
  }
  launch_blocks<kStreamedThreads, 1>(rows, block, stream, where);
}

}  // namespace hirgen
