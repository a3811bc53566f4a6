#include <string>

#include "check/reference_kernels.hpp"
#include "hirgen/dropout.hpp"
#include "hirgen/numerics.hpp"

namespace hirgen::reference {
namespace {

constexpr const char* kReference = "evaluate the reference";

struct UnaryElement {
  UnaryFn fn;
  float* out;
  const float* in;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    float x[1] = {in[i]};
    apply(fn, x);
    out[i] = round_to(dtype, x[0]);
  }
};

struct BinaryElement {
  BinaryFn fn;
  float* out;
  const float *a, *b;
  Strided a_view, b_view;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    float x[1] = {a[offset_of(a_view, i)]};
    const float y[1] = {b[offset_of(b_view, i)]};
    apply(fn, x, y);
    out[i] = round_to(dtype, x[0]);
  }
};

struct DropoutElement {
  Dropout kind;
  float* out;
  DropoutOperands in;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const float row = in.row == nullptr ? 0.0F : in.row[offset_of(in.row_view, i)];
    const uint64_t index = index_of(kind, row, in.column[offset_of(in.column_view, i)]);
    out[i] = round_to(dtype, dropped_at(kind, in.x[i], in.seed, index));
  }
};

struct ReduceElement {
  ReduceFn fn;
  float* out;
  const float* in;
  int64_t count, inner;
  DType dtype;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const float* first = in + i / inner * count * inner + i % inner;
    float sum[1] = {identity_of(fn)};
    for (int64_t r = 0; r < count; ++r) {
      const float x[1] = {first[r * inner]};
      apply(fn, sum, x);
    }
    out[i] = round_to(dtype, sum[0]);
  }
};

struct GatherElement {
  float* out;
  const float* in;
  Strided view;

  HG_HOST_DEVICE void operator()(int64_t i) const { out[i] = in[offset_of(view, i)]; }
};

struct RowElement {
  float* out;
  const float* in;
  Rows rows;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t block = i / rows.inner / rows.numbers;
    const float id = rows.ids[rows.number(i)];
    const float row = rows.first == nullptr ? id : id - rows.first[block / rows.counted];
    const bool known = row >= 0 && row < static_cast<float>(rows.count);
    const int64_t at = block * rows.count + (known ? static_cast<int64_t>(row) : 0);
    out[i] = known ? in[at * rows.inner + i % rows.inner] : 0.0F;
  }
};

struct UnsureRow {
  float* bound;
  const float* ids_bound;
  Rows rows;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    if (ids_bound[rows.number(i)] > 0) bound[i] = INFINITY;
  }
};

struct ScatterElement {
  float* out;
  Strided view;
  const float* in;

  HG_HOST_DEVICE void operator()(int64_t i) const { out[offset_of(view, i)] = in[i]; }
};

/// Returns b[k, n] of one batch, in either storage order.
HG_HOST_DEVICE inline float element_b(const Matmul& p, const float* b, int64_t k, int64_t n) {
  return p.transposed_b ? b[n * p.k + k] : b[k * p.n + n];
}

/// Returns a finished sum with its bias, rounded.
HG_HOST_DEVICE inline float finish(const Matmul& p, float sum, const float* bias, int64_t n) {
  return round_to(p.dtype, bias == nullptr ? sum : sum + bias[n]);
}

constexpr int kTile = 32;  ///< a block computes kTile x kTile elements of c

/// The tile of c that a block computes, by its first element.
struct MatmulTile {
  int64_t batch, row, column;

  HG_HOST_DEVICE static int64_t along(int64_t extent) { return (extent + kTile - 1) / kTile; }
  HG_HOST_DEVICE static MatmulTile of(const Matmul& p, int64_t block) {
    const int64_t rows = along(p.m), columns = along(p.n);
    return {block / columns / rows, block / columns % rows * kTile, block % columns * kTile};
  }
  static int64_t count(const Matmul& p) { return p.batch * along(p.m) * along(p.n); }
};

#ifdef __CUDACC__

constexpr int kRows = 8;       ///< rows of threads in a block
constexpr int kPerThread = 4;  ///< elements of c per thread: kTile = kRows * kPerThread

/// A matmul with tiles in shared memory. Elements of tiles past the edges of a and b are zeros.
__global__ void __launch_bounds__(kTile* kRows)
    matmul_kernel(Matmul p, float* c, const float* a, const float* b, const float* bias) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile + 1];  // + 1: no bank conflicts if b is transposed
  const auto [batch, row0, col0] = MatmulTile::of(p, blockIdx.x);
  const int x = threadIdx.x, y = threadIdx.y;
  a += batch * p.m * p.k;
  b += p.shared_b ? 0 : batch * p.k * p.n;
  c += batch * p.m * p.n;

  float sum[kPerThread] = {};
  for (int64_t k0 = 0; k0 < p.k; k0 += kTile) {
    for (int i = y; i < kTile; i += kRows) {
      const int64_t row = row0 + i, k = k0 + x;
      tile_a[i][x] = row < p.m && k < p.k ? a[row * p.k + k] : 0.0F;
      // Adjacent threads read adjacent addresses in either storage order of b.
      const int bk = p.transposed_b ? x : i, bn = p.transposed_b ? i : x;
      const bool inside = k0 + bk < p.k && col0 + bn < p.n;
      tile_b[bk][bn] = inside ? element_b(p, b, k0 + bk, col0 + bn) : 0.0F;
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      for (int j = 0; j < kPerThread; ++j) sum[j] += tile_a[y + j * kRows][k] * tile_b[k][x];
    }
    __syncthreads();
  }
  for (int j = 0; j < kPerThread; ++j) {
    const int64_t row = row0 + y + j * kRows, col = col0 + x;
    if (row < p.m && col < p.n) c[row * p.n + col] = finish(p, sum[j], bias, col);
  }
}

#else

/// Computes one row of c: row i % m of batch i / m. If b is not transposed, the inner loop runs
/// along a row of b. If it is, the inner loop adds to several columns, because the additions to one
/// column must wait for each other.
struct MatmulRow {
  static constexpr int64_t kColumns = 8;

  Matmul p;
  float* c;
  const float *a, *b, *bias;

  void operator()(int64_t i) const {
    const float* row_a = a + i * p.k;
    const float* matrix_b = b + (p.shared_b ? 0 : i / p.m * p.k * p.n);
    float* row_c = c + i * p.n;
    if (p.transposed_b) {
      for (int64_t n = 0; n < p.n; n += kColumns) columns(row_c, row_a, matrix_b, n);
    } else {
      for (int64_t n = 0; n < p.n; ++n) row_c[n] = 0.0F;
      for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t n = 0; n < p.n; ++n) row_c[n] += row_a[k] * element_b(p, matrix_b, k, n);
      }
    }
    for (int64_t n = 0; n < p.n; ++n) row_c[n] = finish(p, row_c[n], bias, n);
  }

  /// Computes kColumns columns of a row from column `first` on, or fewer at the end of the row.
  void columns(float* row_c, const float* row_a, const float* matrix_b, int64_t first) const {
    float sums[kColumns] = {};
    const int64_t count = p.n - first < kColumns ? p.n - first : kColumns;
    if (count == kColumns) {
      for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t j = 0; j < kColumns; ++j) {
          sums[j] += row_a[k] * element_b(p, matrix_b, k, first + j);
        }
      }
    } else {
      for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t j = 0; j < count; ++j) {
          sums[j] += row_a[k] * element_b(p, matrix_b, k, first + j);
        }
      }
    }
    for (int64_t j = 0; j < count; ++j) row_c[first + j] = sums[j];
  }
};

#endif

}  // namespace

void matmul(const Matmul& shape, float* c, const float* a, const float* b, const float* bias,
            cudaStream_t stream) {
#ifdef __CUDACC__
  const Matmul& p = shape;
  const int64_t blocks = MatmulTile::count(p);
  if (blocks > kMostOfGrid) {
    throw Error(Code::kUsage, "a matmul of " + std::to_string(p.batch) + " x " +
                                  std::to_string(p.m) + " x " + std::to_string(p.n) +
                                  " elements is too large to check; run with --no-check");
  }
  matmul_kernel<<<static_cast<unsigned>(blocks), dim3(kTile, kRows), 0, stream>>>(p, c, a, b, bias);
  HG_CHECK(cudaGetLastError(), kReference);
#else
  parallel_for(shape.batch * shape.m, stream, kReference, MatmulRow{shape, c, a, b, bias});
#endif
}

void unary(UnaryFn fn, float* out, const float* in, int64_t n, DType dtype, cudaStream_t stream) {
  parallel_for(n, stream, kReference, UnaryElement{fn, out, in, dtype});
}

void binary(BinaryFn fn, float* out, const float* a, const Strided& a_view, const float* b,
            const Strided& b_view, DType dtype, cudaStream_t stream) {
  parallel_for(elements_of(a_view), stream, kReference,
               BinaryElement{fn, out, a, b, a_view, b_view, dtype});
}

void dropout(const Dropout& kind, float* out, const DropoutOperands& in, int64_t n, DType dtype,
             cudaStream_t stream) {
  parallel_for(n, stream, kReference, DropoutElement{kind, out, in, dtype});
}

void reduce(ReduceFn fn, float* out, const float* in, int64_t outer, int64_t count, int64_t inner,
            DType dtype, cudaStream_t stream) {
  parallel_for(outer * inner, stream, kReference, ReduceElement{fn, out, in, count, inner, dtype});
}

void gather(float* out, const float* in, const Strided& in_view, cudaStream_t stream) {
  parallel_for(elements_of(in_view), stream, kReference, GatherElement{out, in, in_view});
}

void gather_rows(float* out, const float* in, const Rows& rows, int64_t n, cudaStream_t stream) {
  parallel_for(n, stream, kReference, RowElement{out, in, rows});
}

void unsure_rows(float* bound, const float* ids_bound, const Rows& rows, int64_t n,
                 cudaStream_t stream) {
  parallel_for(n, stream, kReference, UnsureRow{bound, ids_bound, rows});
}

void scatter(float* out, const Strided& out_view, const float* in, cudaStream_t stream) {
  parallel_for(elements_of(out_view), stream, kReference, ScatterElement{out, out_view, in});
}

}  // namespace hirgen::reference
