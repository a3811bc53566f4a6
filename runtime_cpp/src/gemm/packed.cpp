#include "gemm/packed.hpp"

#include <algorithm>
#include <vector>

#include "gemm/matrix.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/row_copies.hpp"

namespace hirgen {

namespace {

/// The bias as a matrix of one row.
Matrix bias_row(const MatmulShape& s) { return {1, s.n, 1, 0, 16}; }

/// The size in bytes of a packed operand, rounded up to a multiple of 256.
size_t bytes_of(const Matrix& packed, size_t element) {
  const int64_t batch = packed.stride == 0 ? 1 : packed.batch;
  const size_t bytes = static_cast<size_t>(batch * packed.rows * packed.leading()) * element;
  return (bytes + 255) / 256 * 256;
}

/// The copy of the rows and columns that both matrices have.
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

/// Enqueues a copy of scales [rows, columns], row-major, to a layout with these distances between
/// rows and columns.
const void* copy_scales(const void* in, const Strided& from, char* out, int64_t row, int64_t column,
                        cudaStream_t stream, const char* where) {
  Strided to = from;
  to.stride[0] = row;
  to.stride[1] = column;
  launch_unary(UnaryFn::kCopy, out, DType::kFp32, to, in, DType::kFp32, from, stream, where);
  return out;
}

/// A copy of `rows` rows of 8-bit elements. Each row has `bytes` bytes, a multiple of 4.
RowCopy copy_bytes(const void* in, void* out, int64_t rows, int64_t bytes) {
  return {out, in, bytes / 4, bytes / 4, 0, 0, rows, bytes / 4, 1, 4};
}

/// Copies the scales of a shape, and A if the library computes more rows. Scales of B stay where
/// they are if cuBLASLt can read them there.
GemmOperands copy_scales(const MatmulShape& s, GemmOperands operands, char* memory,
                         cudaStream_t stream, const char* where) {
  const PackedOperands at = packed_operands(s);
  const Matrix a = scales_of_a(s), b = scales_of_b(s);
  operands.scales_a = copy_scales(operands.scales_a, {2, {s.m, a.rows}, {a.rows, 1}},
                                  memory + at.scales_a, 1, a.cols, stream, where);
  if (adds_rows(s)) {
    const RowCopy rows = copy_bytes(operands.a, memory + at.a, s.m, s.k);
    launch_row_copies(&rows, 1, stream, where);
    operands.a = memory + at.a;
    operands.c = memory + at.c;
  }
  const bool dense = b.leading() == b.cols;
  if (dense && reinterpret_cast<uintptr_t>(operands.scales_b) % 16 == 0) return operands;
  operands.scales_b = copy_scales(operands.scales_b, {2, {b.rows, b.cols}, {b.cols, 1}},
                                  memory + at.scales_b, b.leading(), 1, stream, where);
  return operands;
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
  const bool more = adds_rows(shape);
  at.a = place(shape.pack_a || more, operand_a(shape), element);
  at.b = place(shape.pack_b, operand_b(shape), element);
  at.c = place(shape.pack_c || more, result(shape), out);
  at.bias = place(shape.pack_c && shape.bias, bias_row(shape).pack(), out);
  const bool scales = shape.scales || shape.row_scales;
  at.scales_a = place(scales, scales_of_a(shape), sizeof(float));
  at.scales_b = place(scales, scales_of_b(shape), sizeof(float));
  return at;
}

GemmOperands copy_operands(const MatmulShape& s, const GemmOperands& given, void* workspace,
                           cudaStream_t stream, const char* where) {
  const PackedOperands at = packed_operands(s);
  char* const memory = static_cast<char*>(workspace);
  if (s.scales) return copy_scales(s, given, memory, stream, where);
  const size_t element = size_of(s.dtype), out = size_of(s.result());
  std::vector<RowCopy> copies;
  const auto pack = [&](bool packs, const void* in, const Matrix& from, size_t to,
                        const Matrix& packed, size_t bytes) -> const void* {
    if (!packs) return in;
    copies.push_back(copy_of(in, from, memory + to, packed, bytes));
    return memory + to;
  };
  const auto scales = [&](const void* in, size_t to, int64_t count, int64_t read) {
    const bool ready = reinterpret_cast<uintptr_t>(in) % 16 == 0 && count == read;
    const Matrix row{1, count, 1, 0, 16};
    return pack(s.row_scales && !ready, in, row, to, row, sizeof(float));
  };
  const GemmOperands packed{
      pack(s.pack_a, given.a, given_a(s), at.a, operand_a(s), element),
      pack(s.pack_b, given.b, given_b(s), at.b, operand_b(s), element),
      pack(s.pack_c && s.bias, given.bias, bias_row(s), at.bias, bias_row(s).pack(), out),
      pack(s.pack_c && s.addend, given.added, given_c(s), at.c, result(s), out),
      s.pack_c ? memory + at.c : given.c,
      scales(given.scales_a, at.scales_a, s.m, scales_of_a(s).cols),
      scales(given.scales_b, at.scales_b, s.n, scales_of_b(s).cols)};
  launch_row_copies(copies.data(), copies.size(), stream, where);
  return packed;
}

void copy_result(const MatmulShape& s, const void* made, void* c, cudaStream_t stream,
                 const char* where) {
  const RowCopy back = copy_of(made, result(s), c, given_c(s), size_of(s.result()));
  launch_row_copies(&back, 1, stream, where);
}

}  // namespace hirgen
