// Launches of fused kernels. An emitted program has one kernel for each group of elementwise
// operations and reductions along rows (NAME_kernels.cu). The body of a kernel is a struct of the
// operands. Its call operator computes one row of the results (row.hpp), part of a row, a run of
// rows, or a tile of elements. Include this from .cu files only.
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

/// How a kernel accesses its operands: if `aligned`, it may access W elements at once, else one.
/// Row indices have type I, which is 32 bits wide if possible, because 64-bit divisions take many
/// times as long.
template <int W, int Operands, typename I = uint32_t>
struct Accesses {
  using Index = I;
  static constexpr int kWidth = W;
  /// The number of reads of each operand that a thread issues before it uses the first of them.
  /// With fewer operands, the registers suffice for more reads of each.
  static constexpr int kAtOnce = Operands <= 2 ? 4 : Operands <= 4 ? 2 : 1;
  /// The number of such reads in kernels on rows. With this number, the registers of an SM suffice
  /// for kThreadsOfSm threads.
  static constexpr int kOfRow = Operands <= 4 ? 4 : 2;
  bool aligned;

  /// Returns accesses as for a kernel with at least five operands, which issues fewer reads at
  /// once. Used for kernels that need many registers for arithmetic.
  Accesses<W, std::max(Operands, 5), I> few() const { return {aligned}; }
  /// Returns accesses with 64-bit row indices, for a kernel with 2^32 rows or more, or with more
  /// blocks than a grid can have.
  Accesses<W, Operands, uint64_t> wide() const { return {aligned}; }
};

/// element_of() is declared only for its result type, the element type of an operand. aligned()
/// returns whether the operand starts at a multiple of 16 bytes. For a Scattered operand, all rows
/// must start at such multiples, and columns must be adjacent.
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

/// Returns the accesses of a kernel with these operands. An access has the number of elements of
/// the smallest element type that fill 16 bytes, but at most 8. With 16 elements, the values that a
/// body keeps would not fit into the registers of a thread.
template <typename... Operand>
auto accesses(const Operand&... operands) {
  constexpr int kBytes = std::max(2, static_cast<int>(std::min({sizeof(element_of(operands))...})));
  constexpr int kWidth = 16 / kBytes;
  return Accesses<kWidth, sizeof...(Operand)>{(aligned(operands) && ...)};
}

/// launch_parts() divides rows of more than kLongestRow columns. It divides rows of at least
/// kLeastPart columns, too, if it accesses one element at a time. Rows that are exchanged stay
/// whole.
constexpr int64_t kLeastPart = 1024, kLongestRow = 1 << 14;

#ifdef __CUDACC__

/// Kernels are compiled so that an SM can run at least this number of threads. Fewer threads would
/// have too few reads in flight.
constexpr int kThreadsOfSm = 1024;

template <int T, int Rows, typename Block>
__global__ void __launch_bounds__(T* Rows, kThreadsOfSm / (T * Rows))
    block_kernel(const __grid_constant__ Block block) {
  await_earlier_kernels();
  block(blockIdx.x);
}

/// Enqueues block(i) for i in [0, n), each in a thread block of Rows x T threads: T threads for
/// each of `Rows` rows. With a 64-bit Index, n may exceed the size of a grid.
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

/// Returns the number of blocks of `threads` threads that all SMs together run at once, with
/// kThreadsOfSm threads each; 0 on the CPU device.
inline int64_t blocks_at_once(int threads, const char* where) {
  return int64_t{kThreadsOfSm / threads} * multiprocessors(where);
}

/// Returns whether the SMs can run a thread for at least half of these elements at once, with
/// kThreadsOfSm threads each. A kernel on so few elements accesses one element at a time, because
/// the time of a thread counts, not the number of accesses. An optimizer on 260,000 weights takes
/// 2.6 us this way, and 6.6 us with 8 elements in an access (measured on an H200).
inline bool few_elements(int64_t elements, const char* where) {
  return elements <= int64_t{2} * kThreadsOfSm * multiprocessors(where);
}

/// Returns whether kernels prefetch into the L2 cache the row that an SM processes next. This pays
/// if the reads of an SM's threads alone cannot use its share of the memory bandwidth. On an H200,
/// with 37 GB/s per SM, it gains up to 5%; on an H100, with 25 GB/s, it loses up to 5%.
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

/// Returns the number of threads for a row of `accesses` accesses: a power of two, at most 1024. A
/// row of up to 32 accesses has at least one thread for each access. Beyond 32 threads, the number
/// doubles only while a thread would otherwise have more than `each` accesses. Small blocks let an
/// SM run several of them: while one block waits for all threads of its row, another block reads.
constexpr int row_threads(int64_t accesses, int each) {
  int threads = 1;
  while (threads < 32 && threads < accesses) threads *= 2;
  while (threads < 1024 && threads * each < accesses) threads *= 2;
  return threads;
}
constexpr int kTileThreads = 256;
constexpr int kStreamedThreads = 512;
/// Rows in which a thread has more than this number of accesses to one operand are not kept in
/// registers (StreamedRow).
constexpr int64_t kMostChunks = 8;
/// Returns the number of rows of a block whose rows have `threads` threads: 128 / threads up to a
/// warp, otherwise 1.
constexpr int rows_of_block(int threads) { return threads <= 32 ? 128 / threads : 1; }
/// The number of columns in one part of a row in launch_parts(), if each thread makes `each`
/// accesses of `width` elements.
constexpr int64_t columns_of_part(int width, int each) {
  return int64_t{width} * each * kTileThreads;
}

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
inline bool few_elements(int64_t /*elements*/, const char* /*where*/) { return false; }
inline bool fetches_ahead(const char* /*where*/) { return false; }
constexpr int row_threads(int64_t /*accesses*/, int /*each*/) { return 1; }
constexpr int kTileThreads = 1;
constexpr int kStreamedThreads = 1;
constexpr int64_t kMostChunks = 8;
constexpr int rows_of_block(int /*threads*/) { return 1; }
constexpr int64_t columns_of_part(int /*width*/, int /*each*/) { return 8192; }
inline int64_t row_of_block() { return 0; }

#endif

/// Launches the blocks of a kernel that exchanges no rows. With RowExchange::Rows in its place, the
/// rows of each block are exchanged with peers before the block computes.
struct NoExchange {
  template <int T, int Rows, typename Index, typename Block>
  void launch(int64_t n, const Block& block, cudaStream_t stream, const char* where) const {
    launch_blocks<T, Rows, Index>(n, block, stream, where);
  }
};

/// A block of launch_elements(): runs the body on a tile of C * T * W elements of dense operands.
/// Each of T threads has C chunks of W elements.
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

/// The extents of the A axes along which the rows of a kernel are numbered.
template <int A>
struct Rows {
  int64_t extent[A + 1] = {1};

  /// Takes A extents, or the number of rows if A is 0. std::min() bounds the copy: without it,
  /// compilers warn about a possible overflow if they do not see the caller.
  Rows(std::initializer_list<int64_t> extents) {
    std::copy_n(extents.begin(), std::min(extents.size(), std::size(extent)), extent);
  }
  int64_t count() const {
    return std::accumulate(extent, extent + std::max(A, 1), int64_t{1}, std::multiplies<>());
  }
  /// Returns count(). Throws Error(kInternal) if type Index cannot represent it.
  template <typename Index>
  int64_t count_by(const char* where) const {
    const int64_t rows = count();
    if (static_cast<uint64_t>(rows) > std::numeric_limits<Index>::max()) {
      throw Error(Code::kInternal, std::string(where) + ": a kernel has " + std::to_string(rows) +
                                       " rows, and counts them in 32 bits");
    }
    return rows;
  }
  /// Sets at[d] to the index along axis d of row number `row`; the last axis varies fastest.
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

/// A block of launch_by() if Along < 0: runs the body on kRows rows of `Columns` columns, with T
/// threads for each row. Row is RegisterRow or StreamedRow.
template <typename Body, typename Row, int T, int64_t Columns, int A, typename Index>
struct RowBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> rows;
  int64_t ahead;  ///< distance in rows to the row to prefetch; 0: no prefetch

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t index = block * kRows + row_of_block();
    if (index >= count) return;
    RowPlace<A> place{index, index * Columns, Columns, index + ahead < count ? ahead * Columns : 0};
    rows.template find<Index>(index, place.at);
    Row row(place);
    body(row);
  }
};

/// A block of launch_by() if Along >= 0: runs the body on kRows runs of rows (RunOfRows). Each run
/// has up to `length` rows that are adjacent along axis `Along`.
template <typename Body, typename Row, int T, int64_t Columns, int A, int Along, typename Index>
struct RunBlock {
  static constexpr int kRows = rows_of_block(T);
  Body body;
  int64_t count;
  Rows<A> runs;
  int64_t along;  ///< number of rows along axis `Along`
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

/// A block of launch_parts(): runs the body on one part of a row. A row has `Columns` columns, and
/// a part has `Part` columns or, at the end of the row, fewer.
template <typename Body, typename Row, int64_t Columns, int64_t Part, int A, typename Index>
struct PartBlock {
  static constexpr int64_t kParts = (Columns + Part - 1) / Part;
  Body body;
  Rows<A> rows;

  HG_HOST_DEVICE void operator()(int64_t block) const {
    const int64_t row = block / kParts, from = block % kParts * Part;
    RowPlace<A> place{row, row * Columns, from + Part < Columns ? from + Part : Columns, 0};
    rows.template find<Index>(row, place.at);
    place.from = from;
    Row part(place);
    body(part);
  }
};

/// Enqueues the body on all elements. Operands are dense and have `elements` elements each.
template <typename Body, int W, int O, typename Index>
void launch_elements(const Body& body, int64_t elements, Accesses<W, O, Index> accesses,
                     cudaStream_t stream, const char* where) {
  constexpr int kChunks = Accesses<W, O>::kAtOnce;
  const auto launch = [&](auto tile) {
    constexpr int64_t kElements = decltype(tile)::kElements;
    launch_blocks<kTileThreads, 1, Index>((elements + kElements - 1) / kElements, tile, stream,
                                          where);
  };
  if (accesses.aligned && elements % W == 0 && !few_elements(elements, where)) {
    launch(TileBlock<Body, W, kChunks, kTileThreads>{body, elements});
  } else {
    launch(TileBlock<Body, 1, kChunks, kTileThreads>{body, elements});
  }
}

/// Returns the number of rows of a run, from 1 to 4: the largest number that still leaves at least
/// twice as many runs as the GPU processes at once. Returns 1 if no number does, and 4 on the CPU
/// device, where rows_at_once is 0.
inline int64_t run_length(int64_t rows, int64_t rows_at_once) {
  constexpr int64_t kMost = 4;
  return rows_at_once == 0 ? kMost : std::clamp(rows / (2 * rows_at_once), int64_t{1}, kMost);
}

/// Enqueues the body on whole rows, for launch_rows() and launch_parts(), with accesses of W
/// elements. Chooses the number of threads for a row from `Each`, the preferred number of accesses
/// of a thread. Chooses RegisterRow if a thread's elements fit into registers, else StreamedRow. If
/// the body may reduce rows or blocks of a row (`Reduces`), W = 1 also requires StreamedRow.
template <int64_t Columns, int W, int Each, int Along, bool Reduces, typename Index, int A,
          typename Body, typename Exchange>
void launch_by(const Body& body, const Rows<A>& rows, cudaStream_t stream, const char* where,
               const Exchange& exchange) {
  constexpr int64_t kAccesses = Columns / W;
  constexpr int kMostThreads = row_threads(kAccesses, Each);
  constexpr int64_t kChunks = (kAccesses + kMostThreads - 1) / kMostThreads;
  constexpr bool kFits = (W > 1 || !Reduces) && kChunks <= kMostChunks;
  constexpr int kThreads = kFits ? kMostThreads : std::min(kMostThreads, kStreamedThreads);
  using Row = std::conditional_t<kFits, RegisterRow<W, static_cast<int>(kChunks), kThreads, A>,
                                 StreamedRow<W, kThreads, A>>;
  constexpr int kRows = rows_of_block(kThreads);
  const auto launch = [&](int64_t count, const auto& block) {
    exchange.template launch<kThreads, kRows, Index>((count + kRows - 1) / kRows, block, stream,
                                                     where);
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

/// Enqueues the body on each row. A dense operand has `Columns` elements for each row, a single row
/// that all rows use, or one element for each row or for all rows. A Scattered operand has strides
/// along the A axes of rows. If Along >= 0, the body takes runs of rows along that axis
/// (RunOfRows). With RowExchange::rows() as `exchange`, each block exchanges its rows of dense
/// operands with peers before the body runs.
template <int64_t Columns, int A = 0, int Along = -1, typename Body, int W, int O, typename Index,
          typename Exchange = NoExchange>
void launch_rows(const Body& body, const Rows<A>& rows, Accesses<W, O, Index> accesses,
                 cudaStream_t stream, const char* where, const Exchange& exchange = {}) {
  if constexpr (Columns % W == 0) {
    constexpr int kEach = Accesses<W, O>::kOfRow;
    if (accesses.aligned) {
      return launch_by<Columns, W, kEach, Along, true, Index>(body, rows, stream, where, exchange);
    }
  }
  launch_by<Columns, 1, 4, Along, true, Index>(body, rows, stream, where, exchange);
}

/// Enqueues the body on each part of each row. The body must not reduce rows or blocks of a row.
/// Several thread blocks share a row of more than kLongestRow columns. If there are few elements
/// (few_elements()), or rows are not aligned, they share a row of at least kLeastPart columns, so
/// that all SMs are busy. Operands and `exchange` are as in launch_rows(); rows that are exchanged
/// stay whole.
template <int64_t Columns, int A = 0, typename Body, int W, int O, typename Index,
          typename Exchange = NoExchange>
void launch_parts(const Body& body, const Rows<A>& rows, Accesses<W, O, Index> accesses,
                  cudaStream_t stream, const char* where, const Exchange& exchange = {}) {
  constexpr int kEach = Accesses<W, O>::kOfRow;
  constexpr bool kWhole = !std::is_same_v<Exchange, NoExchange>;
  // A whole row that is not kept in registers is read again and again, one element at a time.
  constexpr bool kAlwaysWide = kWhole && Columns > 1024 * kMostChunks;
  const int64_t count = rows.template count_by<Index>(where);
  const auto launch = [&](auto width, auto whole) {
    constexpr int kWidth = decltype(width)::value;
    if constexpr (decltype(whole)::value) {
      launch_by<Columns, kWidth, kWidth == 1 ? 4 : kEach, -1, false, Index>(body, rows, stream,
                                                                            where, exchange);
    } else {
      constexpr int64_t kPart = columns_of_part(kWidth, kEach);
      constexpr bool kFits = kPart == int64_t{kWidth} * kEach * kTileThreads;
      using Row = std::conditional_t<kFits, RegisterRow<kWidth, kEach, kTileThreads, A>,
                                     StreamedRow<kWidth, kTileThreads, A>>;
      using Block = PartBlock<Body, Row, Columns, kPart, A, Index>;
      launch_blocks<kTileThreads, 1, Index>(count * Block::kParts, Block{body, rows}, stream,
                                            where);
    }
  };
  if constexpr (Columns % W == 0) {
    if (accesses.aligned && (kAlwaysWide || !few_elements(count * Columns, where))) {
      constexpr bool kInRows = kWhole || Columns <= kLongestRow;
      return launch(std::integral_constant<int, W>(), std::bool_constant<kInRows>());
    }
  }
  constexpr bool kInRows = kWhole || Columns < kLeastPart;
  launch(std::integral_constant<int, 1>(), std::bool_constant<kInRows>());
}

}  // namespace hirgen
