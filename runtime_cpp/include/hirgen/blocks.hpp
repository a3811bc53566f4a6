// Launches of thread blocks for fused kernels, and how many threads a block has. Include this from
// .cu files only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hirgen/error.hpp"
#include "hirgen/grid.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {

#ifdef __CUDACC__

/// Kernels are compiled so that an SM can run at least this number of threads. Fewer threads would
/// have too few reads in flight.
constexpr int kThreadsOfSm = 1024;

template <int T, int Rows, typename Block>
__global__ void __launch_bounds__(T* Rows, kThreadsOfSm / (T * Rows))
    block_kernel(const __grid_constant__ Block block) {
  await_earlier_kernels();
  release_next_kernel();
  block(blockIdx.x);
}

/// Enqueues block(i) for i in [0, n), each in a thread block of Rows x T threads: T threads for
/// each of `Rows` rows. With a 64-bit Index, n may exceed the size of a grid.
template <int T, int Rows, typename Index, typename Block>
void launch_blocks(int64_t n, const Block& block, cudaStream_t stream, const char* where) {
  const auto launch = [&](int64_t blocks, const auto& part) {
    const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
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

}  // namespace hirgen
