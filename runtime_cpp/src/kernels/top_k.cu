// The largest elements of rows, in descending order.
#include <cmath>
#include <cstdint>
#include <string>

#include "hirgen/grid.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

/// An element of a row and its column. Rows have at most 2^24 elements. Of equal elements, the
/// first one counts as the largest.
struct Found {
  float value;
  int32_t at;

  HG_HOST_DEVICE bool exceeds(const Found& other) const {
    return value > other.value || (value == other.value && at < other.at);
  }
};

/// Selects the k largest elements of each row of T. In each of k rounds, the lanes look for the
/// largest element that the element of the round before exceeds. So no memory is needed for the
/// elements that were taken. If a row has a NaN, all of its results are NaN, at position INT32_MAX.
template <typename T>
struct TopK {
  T* values;
  int32_t* positions;
  const T* in;
  int64_t k;
  int32_t columns;
  int64_t step[3];  ///< distance between the columns of values, positions and in
  Walk<3> rows;

  /// Selects from a row. Lanes::kKept is how many elements a lane keeps in registers; with 0 it
  /// reads them in each round.
  template <typename Lanes>
  HG_HOST_DEVICE void select(int64_t row, const Lanes& lanes) const {
    int64_t at[3];
    rows.offsets(row, at);
    const Elements<Lanes> elements(*this, in + at[2], lanes.lane);
    Found unordered{0.0F, lanes.lane};
    elements.visit([&](const Found& x) { unordered.value += x.value == x.value ? 0.0F : 1.0F; });
    const bool ordered = lanes.largest(unordered).value == 0.0F;
    Found last{INFINITY, -1};
    for (int64_t j = 0; j < k; ++j) {
      Found best{-INFINITY, columns};
      elements.visit([&](const Found& x) {
        if (last.exceeds(x) && x.exceeds(best)) best = x;
      });
      last = lanes.largest(best);
      if (lanes.lane == 0) {
        narrow(ordered ? last.value : NAN, values[at[0] + j * step[0]]);
        positions[at[1] + j * step[1]] = ordered ? last.at : INT32_MAX;
      }
    }
  }

 private:
  /// The elements of a row that a lane looks at: every Lanes::kCount-th.
  template <typename Lanes>
  struct Elements {
    const TopK& kernel;
    const T* row;
    int32_t lane;
    float kept[Lanes::kKept + 1];

    HG_HOST_DEVICE Elements(const TopK& of, const T* first, int32_t by)
        : kernel(of), row(first), lane(by), kept() {
      HG_UNROLL
      for (int32_t i = 0; i < Lanes::kKept; ++i) {
        const int32_t c = lane + i * Lanes::kCount;
        kept[i] = c < kernel.columns ? widen(row[c * kernel.step[2]]) : -INFINITY;
      }
    }

    template <typename Visit>
    HG_HOST_DEVICE void visit(const Visit& visit) const {
      if constexpr (Lanes::kKept > 0) {
        HG_UNROLL
        for (int32_t i = 0; i < Lanes::kKept; ++i) visit({kept[i], lane + i * Lanes::kCount});
      } else {
        for (int32_t c = lane; c < kernel.columns; c += Lanes::kCount) {
          visit({widen(row[c * kernel.step[2]]), c});
        }
      }
    }
  };
};

#ifdef __CUDACC__

/// The threads that select from one row: a warp, or, if `Warps` > 1, all warps of a block.
template <int Warps, int Kept>
struct Lanes {
  static constexpr int32_t kCount = Warps * 32, kKept = Kept;
  int32_t lane;
  Found* of_warps;

  __device__ Found largest(Found found) const {
    found = in_warp(found);
    if constexpr (Warps > 1) {
      if (lane % 32 == 0) of_warps[lane / 32] = found;
      __syncthreads();
      found = in_warp(of_warps[lane % Warps]);
      __syncthreads();  // the next call writes of_warps again
    }
    return found;
  }

 private:
  __device__ static Found in_warp(Found found) {
    for (int apart = 16; apart > 0; apart /= 2) {
      const Found other{__shfl_xor_sync(~0U, found.value, apart),
                        __shfl_xor_sync(~0U, found.at, apart)};
      if (other.exceeds(found)) found = other;
    }
    return found;
  }
};

constexpr int kTopKThreads = 256;

template <int Warps, int Kept, typename T>
__global__ void __launch_bounds__(kTopKThreads) top_k_kernel(int64_t rows, TopK<T> kernel) {
  await_earlier_kernels();
  release_next_kernel();
  __shared__ Found of_warps[Warps];
  constexpr int kPerBlock = kTopKThreads / (Warps * 32);  // rows that a block handles
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t row = int64_t{blockIdx.x} * kPerBlock + thread / (Warps * 32);
  if (row < rows) kernel.select(row, Lanes<Warps, Kept>{thread % (Warps * 32), of_warps});
}

/// Enqueues the kernel. A warp selects from a row of at most 256 elements, which fits its
/// registers, and a block from a longer row.
template <typename T>
void launch_of(const TopK<T>& kernel, int64_t rows, cudaStream_t stream, const char* where) {
  if (rows == 0) return;
  const TracedCall traced(TraceKind::kKernel, "top_k", stream, where);
  const auto by = [&](const auto& function, int64_t rows_of_block) {
    const unsigned grid = grid_of((rows + rows_of_block - 1) / rows_of_block, where);
    launch_early(function, grid, dim3(kTopKThreads), 1, stream, where, rows, kernel);
  };
  constexpr int kWarps = kTopKThreads / 32;
  if (kernel.columns <= 32) {
    by(top_k_kernel<1, 1, T>, kWarps);
  } else if (kernel.columns <= 256) {
    by(top_k_kernel<1, 8, T>, kWarps);
  } else if (kernel.columns <= 32 * kTopKThreads) {
    by(top_k_kernel<kWarps, 32, T>, 1);
  } else {
    by(top_k_kernel<kWarps, 0, T>, 1);
  }
}

#else

/// A thread of the CPU device, which selects from a row alone.
struct OneLane {
  static constexpr int32_t kCount = 1, kKept = 0;
  int32_t lane = 0;

  HG_HOST_DEVICE Found largest(const Found& found) const { return found; }
};

template <typename T>
struct TopKAlone {
  TopK<T> kernel;

  HG_HOST_DEVICE void operator()(int64_t row) const { kernel.select(row, OneLane{}); }
};

template <typename T>
void launch_of(const TopK<T>& kernel, int64_t rows, cudaStream_t stream, const char* where) {
  parallel_for(rows, stream, where, TopKAlone<T>{kernel});
}

#endif

}  // namespace

void launch_top_k(void* values, const Strided& values_view, int32_t* positions,
                  const Strided& positions_view, const void* in, DType type, const Strided& in_view,
                  cudaStream_t stream, const char* where) {
  const int last = values_view.axes - 1;
  const auto rows = walk_over<3>({&values_view, &positions_view, &in_view}, last, where);
  const auto of = [&]<typename T>(const T* elements) {
    const TopK<T> kernel{
        static_cast<T*>(values),
        positions,
        elements,
        values_view.extent[last],
        static_cast<int32_t>(in_view.extent[last]),
        {values_view.stride[last], positions_view.stride[last], in_view.stride[last]},
        rows};
    launch_of(kernel, rows.elements(), stream, where);
  };
  switch (type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return of(static_cast<const element*>(in));
    HG_NUMBER_TYPES(HG_CASE)
    HG_INTEGER_TYPES(HG_CASE)
#undef HG_CASE
    default:
      throw Error(Code::kInternal, std::string(where) + ": a top_k of numbers of 8 bits");
  }
}

}  // namespace hirgen
