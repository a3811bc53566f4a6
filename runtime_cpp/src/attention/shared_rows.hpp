// Rows of a head in shared memory. If the rows are aligned, asynchronous copies of 16 bytes load
// them on a GPU, so that the next tile can arrive while the current one is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/fragment.hpp"
#include "hirgen/numerics.hpp"

namespace hirgen::tiles {

/// One head's rows in memory, `stride` elements apart. SharedRows::request() reads zeros for rows
/// and columns after the last. `aligned`: all rows start and end at multiples of 16 bytes.
template <typename T>
struct GlobalRows {
  T* data;
  int64_t stride, rows;
  int columns;
  bool aligned;

  HG_DEVICE T* at(int64_t row) const { return data + row * stride; }
};

/// R rows of D columns in shared memory. The distance between rows is 16 bytes more than a multiple
/// of 128, so that reads of eight rows at the same time use different banks.
template <typename T, int D, int R>
struct SharedRows {
  static constexpr int kWidth = 16 / sizeof(T);
  static constexpr int kPitch = D + kWidth;
  static constexpr size_t kBytes = sizeof(T) * R * kPitch;
  T* data;

  HG_DEVICE T* at(int row) const { return data + row * kPitch; }

  /// Starts to copy rows [first, first + R) of `source`, with all threads of the block. The rows
  /// have arrived after end_of_request(), a matching arrived<N>() and a barrier.
  HG_DEVICE void request(const GlobalRows<const T>& source, int64_t first) const {
    constexpr int kPacks = D / kWidth;
    for (int i = warp() * kLanes + lane(); i < R * kPacks; i += kWarps * kLanes) {
      const int row = i / kPacks, column = i % kPacks * kWidth;
      const bool inside = first + row < source.rows && column < source.columns;
      const T* from = inside ? source.at(first + row) + column : source.data;
      copy(at(row) + column, from, inside ? source.columns - column : 0, source.aligned);
    }
  }

 private:
  /// Copies kWidth elements; elements from `count` on become zeros. If `aligned`, count <= 0 or
  /// count >= kWidth.
  HG_DEVICE static void copy(T* to, const T* from, int count, bool aligned) {
    if (aligned) aligned_access(from, 16);
#ifdef __CUDA_ARCH__
    if (aligned) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                       static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                   "l"(from), "r"(count > 0 ? 16 : 0));
      return;
    }
#endif
    for (int j = 0; j < kWidth; ++j) {
      if (j < count) {
        to[j] = from[j];
      } else {
        narrow(0, to[j]);
      }
    }
  }
};

/// Ends a group of requests of this thread; arrived<N>() waits for all of its groups but the last
/// N.
HG_DEVICE void end_of_request() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;");
#endif
}
template <int N>
HG_DEVICE void arrived() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(N));
#endif
}

/// The pairs of tiles of a loop: K and V, or Q and the gradient of O. With two `Stages`, the next
/// pair is loaded while the current one is used.
template <typename T, int D, int R, int Stages>
struct PairsOfRows {
  static constexpr size_t kBytes = Stages * 2 * SharedRows<T, D, R>::kBytes;
  char* memory;

  HG_DEVICE SharedRows<T, D, R> first(int64_t i) const { return half(i, 0); }
  HG_DEVICE SharedRows<T, D, R> second(int64_t i) const { return half(i, 1); }

  /// Calls compute(i) for i in [0, count) after pair i has arrived; request(i) requests it.
  template <typename Request, typename Compute>
  HG_DEVICE void walk(int64_t count, Request request, Compute compute) const {
    if (count > 0) request(0);
    end_of_request();
    for (int64_t i = 0; i < count; ++i) {
      if (Stages > 1 && i + 1 < count) request(i + 1);
      end_of_request();
      arrived<1>();
      barrier();
      compute(i);
      barrier();
      if (Stages == 1 && i + 1 < count) request(i + 1);
      end_of_request();
    }
  }

 private:
  HG_DEVICE SharedRows<T, D, R> half(int64_t i, int which) const {
    return {reinterpret_cast<T*>(memory + (i % Stages * 2 + which) * SharedRows<T, D, R>::kBytes)};
  }
};

}  // namespace hirgen::tiles
