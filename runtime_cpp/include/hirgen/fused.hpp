// Launches of fused kernels. An emitted program has one for each group of elementwise operations
// and reductions along rows (NAME_kernels.cu): a struct of its operands, whose call operator says
// what one row (row.hpp) of the result is. Include this from .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

#include "hirgen/dropout.hpp"
#include "hirgen/error.hpp"
#include "hirgen/grid.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/row.hpp"

namespace hirgen {

/// How the dense operands of a kernel may be read: W elements at once, if they are aligned. Its
/// rows are counted in an I: divisions of 64 bits take many times as long.
template <int W, int Operands, typename I = uint32_t>
struct Accesses {
  using Index = I;
  static constexpr int kWidth = W;
  /// Reads of each operand that a thread has under way: the fewer operands, the more.
  static constexpr int kAtOnce = Operands <= 2 ? 4 : Operands <= 4 ? 2 : 1;
  /// The same of a row, for which an SM then has registers.
  static constexpr int kOfRow = Operands <= 4 ? 4 : 2;
  bool aligned;

  /// As if there were more operands: for a kernel that needs registers for what it computes.
  Accesses<W, std::max(Operands, 5), I> few() const { return {aligned}; }
  /// Of a kernel that has more rows, or blocks, than a grid has.
  Accesses<W, Operands, uint64_t> wide() const { return {aligned}; }
};

/// The elements of an operand, and whether its rows start at multiples of 16 bytes.
template <typename T>
T element_of(T* operand);
template <typename T, int A>
T element_of(const Scattered<T, A>& operand);
template <typename T>
bool aligned(T* operand) {
  return reinterpret_cast<uintptr_t>(operand) % 16 == 0;
}
template <typename T, int A>
bool aligned(const Scattered<T, A>& operand) {
  const auto whole = [](int64_t stride) { return stride * int64_t{sizeof(T)} % 16 == 0; };
  return aligned(operand.data) && std::all_of(operand.stride, operand.stride + A, whole) &&
         operand.stride[A] == 1;
}

/// The accesses of a kernel with these operands: 16 bytes of the smallest element type.
template <typename... Operand>
auto accesses(const Operand&... operands) {
  constexpr int kWidth = 16 / static_cast<int>(std::min({sizeof(element_of(operands))...}));
  return Accesses<kWidth, sizeof...(Operand)>{(aligned(operands) && ...)};
}

#ifdef __CUDACC__

/// An SM then has registers for this many threads at least: fewer have too few reads under way.
constexpr int kThreadsOfSm = 1024;

template <int T, int Rows, typename Block>
__global__ void __launch_bounds__(T* Rows, kThreadsOfSm / (T * Rows))
    block_kernel(const __grid_constant__ Block block) {
  await_earlier_kernels();
  block(blockIdx.x);
}

/// Enqueues block(i) for i in [0, n), each by T threads for each of `Rows` rows.
template <int T, int Rows, typename Index, typename Block>
void launch_blocks(int64_t n, const Block& block, cudaStream_t stream, const char* where) {
  const auto launch = [&](int64_t blocks, const auto& part) {
    launch_early(block_kernel<T, Rows, std::remove_cvref_t<decltype(part)>>, grid_of(blocks, where),
                 dim3(T, Rows), 1, stream, where, part);
  };
  if constexpr (std::is_same_v<Index, uint64_t>) {
    in_parts(n, block, launch);
  } else if (n > 0) {
    launch(n, block);
  }
}

/// How many blocks of so many threads SMs have at once.
inline int64_t blocks_at_once(int threads, const char* where) {
  return int64_t{kThreadsOfSm / threads} * multiprocessors(where);
}

/// Whether an SM's share of the memory's rate is so large that the reads of its threads are too
/// few: then the row that runs next is brought to the L2 cache. On an H200, with 37 GB/s for each
/// SM, that gains up to a twentieth; on an H100, with 25, it costs as much.
inline bool fetches_ahead(const char* where) {
  static const bool is_fast = [where] {
    constexpr double kFast = 30e9;
    int device = 0, kilohertz = 0, bits = 0;
    HG_CHECK(cudaGetDevice(&device), where);
    HG_CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device), where);
    HG_CHECK(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device), where);
    return 2e3 * kilohertz * bits / 8 > kFast * multiprocessors(where);
  }();
  return is_fast;
}

/// The threads of a row of so many accesses: up to 32 have one each, more have `each`, and blocks
/// are small. An SM then has several, and while one waits for the others of its row, another one
/// reads.
constexpr int row_threads(int64_t accesses, int each) {
  int threads = 1;
  while (threads < 32 && threads < accesses) threads *= 2;
  while (threads < 1024 && threads * each < accesses) threads *= 2;
  return threads;
}
constexpr int kTileThreads = 256;
constexpr int kStreamedThreads = 512;
/// The most accesses of a thread to a row in registers.
constexpr int64_t kMostChunks = 8;
/// Rows of one warp or less share a block.
constexpr int rows_of_block(int threads) { return threads <= 32 ? 128 / threads : 1; }

HG_HOST_DEVICE inline int64_t row_of_block() {
#ifdef __CUDA_ARCH__
  return threadIdx.y;
#else
  return 0;
#endif
}

#else

template <int T, int Rows, typename Index, typename Block>
void launch_blocks(int64_t n, const Block& block, cudaStream_t stream, const char* where) {
  parallel_for(n, stream, where, block);
}
inline int64_t blocks_at_once(int /*threads*/, const char* /*where*/) { return 0; }
inline bool fetches_ahead(const char* /*where*/) { return false; }
constexpr int row_threads(int64_t /*accesses*/, int /*each*/) { return 1; }
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
    RegisterRow<W, C, T, 0> row({0, first, elements - first, 0});
    body(row);
  }
};

/// How many rows there are: along each of A axes.
template <int A>
struct Rows {
  int64_t extent[A + 1] = {1};

  /// At most A extents, or one without axes: the bound is for compilers that see no caller.
  Rows(std::initializer_list<int64_t> extents) {
    std::copy_n(extents.begin(), std::min(extents.size(), std::size(extent)), extent);
  }
  int64_t count() const {
    return std::accumulate(extent, extent + std::max(A, 1), int64_t{1}, std::multiplies<>());
  }
  /// The same. Throws Error(kInternal) where an Index does not count them.
  template <typename Index>
  int64_t count_by(const char* where) const {
    const int64_t rows = count();
    if (static_cast<uint64_t>(rows) > std::numeric_limits<Index>::max()) {
      throw Error(Code::kInternal, std::string(where) + ": a kernel has " + std::to_string(rows) +
                                       " rows, and counts them in 32 bits");
    }
    return rows;
  }
  /// The index of a row along each axis.
  template <typename Index>
  HG_HOST_DEVICE void find(int64_t row, int64_t (&at)[A + 1]) const {
    auto outer = static_cast<Index>(row);
    HG_UNROLL
    for (int d = A - 1; d >= 0; --d) {
      const auto along = static_cast<Index>(extent[d]);
      at[d] = static_cast<int64_t>(outer % along);
      outer /= along;
    }
  }
};

/// A row of so many columns: Row says how it is read.
template <typename Body, typename Row, int T, int64_t Columns, int A, typename Index>
struct RowBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> rows;
  int64_t ahead;  ///< the row that is fetched ahead is so many behind it; 0: none is

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= count) return;
    RowPlace<A> place{index, index * Columns, Columns, index + ahead < count ? ahead * Columns : 0};
    rows.template find<Index>(index, place.at);
    Row row(place);
    body(row);
  }
};

/// Runs of up to `length` rows along one of the axes of Scattered operands: RunOfRows.
template <typename Body, typename Row, int T, int64_t Columns, int A, int Along, typename Index>
struct RunBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> runs;
  int64_t along;  ///< how many rows there are along the axis
  int64_t length;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= count) return;
    RowPlace<A> place{0, 0, Columns, 0};
    runs.template find<Index>(index, place.at);
    int64_t& first = place.at[Along];
    first *= length;
    RunOfRows<Row, Along> run{Row(place), along - first < length ? along - first : length};
    body(run);
  }
};

/// Runs the body on all elements: operands are dense and have as many each.
template <typename Body, int W, int O, typename Index>
void launch_elements(const Body& body, int64_t elements, Accesses<W, O, Index> accesses,
                     cudaStream_t stream, const char* where) {
  constexpr int kChunks = Accesses<W, O>::kAtOnce;
  const auto launch = [&](auto tile) {
    constexpr int64_t kElements = decltype(tile)::kElements;
    launch_blocks<kTileThreads, 1, Index>((elements + kElements - 1) / kElements, tile, stream,
                                          where);
  };
  if (accesses.aligned && elements % W == 0) {
    launch(TileBlock<Body, W, kChunks, kTileThreads>{body, elements});
  } else {
    launch(TileBlock<Body, 1, kChunks, kTileThreads>{body, elements});
  }
}

/// How many rows a run has: as many as leave each SM threads for twice what it runs at once.
inline int64_t run_length(int64_t rows, int64_t rows_at_once) {
  constexpr int64_t kMost = 4;
  return rows_at_once == 0 ? kMost : std::clamp(rows / (2 * rows_at_once), int64_t{1}, kMost);
}

/// Runs the body on each row, W elements at a time; with Along on runs of rows along that axis.
template <int64_t Columns, int W, int Each, int Along, typename Index, int A, typename Body>
void launch_by(const Body& body, const Rows<A>& rows, cudaStream_t stream, const char* where) {
  constexpr int64_t kAccesses = Columns / W;
  constexpr int kMostThreads = row_threads(kAccesses, Each);
  constexpr int64_t kChunks = (kAccesses + kMostThreads - 1) / kMostThreads;
  constexpr bool kFits = W > 1 && kChunks <= kMostChunks;
  constexpr int kThreads = kFits ? kMostThreads : std::min(kMostThreads, kStreamedThreads);
  using Row = std::conditional_t<kFits, RegisterRow<W, static_cast<int>(kChunks), kThreads, A>,
                                 StreamedRow<W, kThreads, A>>;
  constexpr int kRows = rows_of_block(kThreads);
  const auto launch = [&](int64_t count, const auto& block) {
    launch_blocks<kThreads, kRows, Index>((count + kRows - 1) / kRows, block, stream, where);
  };
  const int64_t count = rows.template count_by<Index>(where);
  const int64_t at_once = kRows * blocks_at_once(kThreads * kRows, where);
  if constexpr (Along < 0) {
    const int64_t ahead = fetches_ahead(where) ? at_once : 0;
    launch(count, RowBlock<Body, Row, kThreads, Columns, A, Index>{body, count, rows, ahead});
  } else {
    const int64_t length = run_length(count, at_once), along = rows.extent[Along];
    Rows<A> runs = rows;
    runs.extent[Along] = (along + length - 1) / length;
    using Block = RunBlock<Body, Row, kThreads, Columns, A, Along, Index>;
    launch(runs.count(), Block{body, runs.count(), runs, along, length});
  }
}

/// Runs the body on each of the rows. Dense operands have a row of so many columns for each, one
/// such row, or an element for each row; Scattered ones have strides along the A axes of rows. With
/// Along the body is given runs of rows along that axis (RunOfRows).
template <int64_t Columns, int A = 0, int Along = -1, typename Body, int W, int O, typename Index>
void launch_rows(const Body& body, const Rows<A>& rows, Accesses<W, O, Index> accesses,
                 cudaStream_t stream, const char* where) {
  if constexpr (Columns % W == 0) {
    constexpr int kEach = Accesses<W, O>::kOfRow;
    if (accesses.aligned) {
      return launch_by<Columns, W, kEach, Along, Index>(body, rows, stream, where);
    }
  }
  launch_by<Columns, 1, 4, Along, Index>(body, rows, stream, where);
}

}  // namespace hirgen
