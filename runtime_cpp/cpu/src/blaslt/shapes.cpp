#include "blaslt/shapes.hpp"

#include "core/error.hpp"

namespace hirgen_cpu {
namespace {

void check_layout(const Layout& layout, const char* name) {
  uint64_t along = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  if (layout.rows == 0 || layout.columns == 0 || layout.batch < 1 || layout.leading < 0 ||
      static_cast<uint64_t>(layout.leading) < along) {
    throw Failure{cudaErrorInvalidValue,
                  format("layout of %s: %llu x %llu, leading dimension %lld, batch %d", name,
                         static_cast<unsigned long long>(layout.rows),
                         static_cast<unsigned long long>(layout.columns),
                         static_cast<long long>(layout.leading), layout.batch)};
  }
}

/// Whether these 8-bit operands can be multiplied, as in cuBLASLt: A is transposed and B is not, so
/// that both, in column order, are contiguous along k. The columns of A and D, and the leading
/// dimensions of A and B, are multiples of 16 bytes long. B also has 8-bit elements, and A or B is
/// e4m3. D has 16-bit or 32-bit elements, and there is a bias only if they have 16 bits.
bool multiplies_short(const Description& op, const Layout& a, const Layout& b, const Layout& d) {
  const bool along_k = op.transpose_a == CUBLAS_OP_T && op.transpose_b == CUBLAS_OP_N;
  const bool whole = a.rows % 16 == 0 && a.leading % 16 == 0 && b.leading % 16 == 0 &&
                     d.rows * size_of(d.type) % 16 == 0;
  const bool bias_fits = (op.epilogue & CUBLASLT_EPILOGUE_BIAS) == 0 || d.type != CUDA_R_32F;
  return along_k && whole && bias_fits && size_of(b.type) == 1 && size_of(d.type) > 1 &&
         (a.type == CUDA_R_8F_E4M3 || b.type == CUDA_R_8F_E4M3);
}

bool has_scales(int32_t mode) { return mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F; }

/// Whether the scale modes are supported, as in cuBLASLt. Both operands have mode OUTER_VEC, and D
/// is bf16 or fp32. Or at least one has mode VEC128, and the other mode VEC128 or BLK128x128. With
/// VEC128, the scales of one block of all lines are a multiple of 16 bytes. There is no epilogue
/// except a bias, and one batch, because cuBLASLt's documentation does not define batches of such
/// scales.
bool scales_fit(const Description& op, const Gemm& gemm, const Layout& a, const Layout& d) {
  constexpr auto kLines = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  const bool lines = op.scale_mode_a == kLines && op.scale_mode_b == kLines &&
                     (d.type == CUDA_R_16BF || d.type == CUDA_R_32F);
  const auto fits = [&](int32_t mode, int64_t lines) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
               ? lines % 4 == 0
               : mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  };
  const bool squares = op.scale_mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F &&
                       op.scale_mode_b == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  const bool blocks = fits(op.scale_mode_a, gemm.m) && fits(op.scale_mode_b, gemm.n) && !squares;
  return (lines || blocks) && size_of(a.type) == 1 && gemm.batch == 1 &&
         (op.epilogue == CUBLASLT_EPILOGUE_DEFAULT || op.epilogue == CUBLASLT_EPILOGUE_BIAS);
}

}  // namespace

Gemm check_shapes(const Description& op, const Layout& a, const Layout& b, const Layout& c,
                  const Layout& d) {
  check_layout(a, "A");
  check_layout(b, "B");
  check_layout(c, "C");
  check_layout(d, "D");
  bool ta = op.transpose_a == CUBLAS_OP_T, tb = op.transpose_b == CUBLAS_OP_T;
  Gemm gemm;
  gemm.m = static_cast<int64_t>(ta ? a.columns : a.rows);
  gemm.k = static_cast<int64_t>(ta ? a.rows : a.columns);
  gemm.n = static_cast<int64_t>(tb ? b.rows : b.columns);
  gemm.batch = d.batch;
  auto k_of_b = static_cast<int64_t>(tb ? b.columns : b.rows);
  auto m = static_cast<uint64_t>(gemm.m), n = static_cast<uint64_t>(gemm.n);
  require(k_of_b == gemm.k, "A and B differ in k");
  require(d.rows == m && d.columns == n, "D is not m x n");
  require(c.rows == m && c.columns == n && c.type == d.type, "C is not like D");
  require(a.batch == d.batch && b.batch == d.batch && c.batch == d.batch, "batch counts differ");
  require(d.batch == 1 || d.batch_stride != 0, "all batches of D are the same memory");
  const bool fits = size_of(a.type) == 1
                        ? multiplies_short(op, a, b, d)
                        : a.type == b.type && (a.type == d.type || d.type == CUDA_R_32F);
  const bool scales_a = has_scales(op.scale_mode_a), scales_b = has_scales(op.scale_mode_b);
  require(!scales_a || op.scales_a != nullptr, "the scale mode of A requires a pointer to scales");
  require(!scales_b || op.scales_b != nullptr, "the scale mode of B requires a pointer to scales");
  if (!fits || ((scales_a || scales_b) && !scales_fit(op, gemm, a, d))) {
    throw Failure{cudaErrorNotSupported, "this combination of element types, layouts and extents"};
  }
  return gemm;
}

}  // namespace hirgen_cpu
