// GEMMs of operands whose rows are not aligned: copies to rows that are, in the workspace.
#include <algorithm>
#include <vector>

#include "gemm/matrix.hpp"
#include "hirgen/row_copies.hpp"

namespace hirgen {

namespace {

/// One row of the bias, and the same, packed.
Matrix bias_row(const MatmulShape& s) { return {1, s.n, 1, 0, 16}; }

/// The elements of a packed operand, in bytes, up to a multiple of 256.
size_t bytes_of(const Matrix& packed, size_t element) {
  const int64_t batch = packed.stride == 0 ? 1 : packed.batch;
  const size_t bytes = static_cast<size_t>(batch * packed.rows * packed.leading()) * element;
  return (bytes + 255) / 256 * 256;
}

/// Copies the common part of two matrices.
RowCopy copy_of(const void* in, const Matrix& from, void* out, const Matrix& to, size_t element) {
  return {out,
          in,
          to.leading(),
          from.leading(),
          to.stride,
          from.stride,
          std::min(from.rows, to.rows),
          std::min(from.cols, to.cols),
          from.stride == 0 ? 1 : from.batch,
          element};
}

}  // namespace

PackedOperands packed_operands(const MatmulShape& shape) {
  PackedOperands at;
  const auto place = [&](bool packs, const Matrix& packed, size_t element) {
    const size_t here = at.bytes;
    if (packs) at.bytes += bytes_of(packed, element);
    return here;
  };
  const size_t element = size_of(shape.dtype), out = size_of(shape.result());
  at.a = place(shape.pack_a, operand_a(shape), element);
  at.b = place(shape.pack_b, operand_b(shape), element);
  at.c = place(shape.pack_c, result(shape), out);
  at.bias = place(shape.pack_c && shape.bias, bias_row(shape).pack(), out);
  return at;
}

void packed_gemm(cublasLtHandle_t cublas, const MatmulPlan& plan, const void* a, const void* b,
                 const void* added, void* c, void* workspace, cudaStream_t stream,
                 const char* where) {
  const MatmulShape& s = plan.shape();
  const PackedOperands at = packed_operands(s);
  char* const memory = static_cast<char*>(workspace);
  const size_t element = size_of(s.dtype), out = size_of(s.result());
  std::vector<RowCopy> copies;
  const auto pack = [&](bool packs, const void* given, const Matrix& from, size_t to,
                        const Matrix& packed, size_t bytes) -> const void* {
    if (!packs) return given;
    copies.push_back(copy_of(given, from, memory + to, packed, bytes));
    return memory + to;
  };
  a = pack(s.pack_a, a, given_a(s), at.a, operand_a(s), element);
  b = pack(s.pack_b, b, given_b(s), at.b, operand_b(s), element);
  added = pack(s.pack_c && s.addend, added, given_c(s), at.c, result(s), out);
  if (s.pack_c && s.bias) {
    const void* bias = pack(true, plan.bias(), bias_row(s), at.bias, bias_row(s).pack(), out);
    HG_CHECK(cublasLtMatmulDescSetAttribute(plan.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                            sizeof(bias)),
             where);
  }
  launch_row_copies(copies.data(), copies.size(), stream, where);
  void* const made = s.pack_c ? memory + at.c : c;
  HG_CHECK(cublasLtMatmul(cublas, plan.op, &kOne, b, plan.b, a, plan.a, s.addend ? &kOne : &kZero,
                          s.addend ? added : made, plan.c, made, plan.c, &plan.algo,
                          memory + at.bytes, plan.workspace_bytes, stream),
           where);
  if (!s.pack_c) return;
  const RowCopy back = copy_of(made, result(s), c, given_c(s), out);
  launch_row_copies(&back, 1, stream, where);
}

}  // namespace hirgen
