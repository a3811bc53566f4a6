// Tests of GEMMs that first copy operands to aligned rows, and of these copies.
#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/row_copies.hpp"
#include "matmul.hpp"

namespace {

using namespace math_test;

/// 16-bit operands that are first copied to aligned rows: A, B, both (with one B for all batches),
/// or all of A, B and C.
void test_packed_operands() {
  for (int form = 0; form < 512; ++form) {
    MatmulShape shape{.m = 37, .n = 43, .k = 29};
    shape.dtype = (form & 1) != 0 ? DType::kFp16 : DType::kBf16;
    shape.transpose_a = (form & 2) != 0;
    shape.transpose_b = (form & 4) != 0;
    shape.bias = (form & 8) != 0;
    shape.batch = (form & 16) != 0 ? 3 : 1;
    shape.addend = (form & 32) != 0;
    if ((form & 64) != 0) shape.dtype_c = DType::kFp32;
    shape.epilogue = shape.bias && shape.addend ? Epilogue::kRelu : Epilogue::kNone;
    const int packs = form / 128;
    shape.pack_a = packs != 1;
    shape.pack_b = packs != 0;
    shape.pack_c = packs == 3;
    shape.stride_b = packs == 2 ? 0 : shape.k * shape.n;  // one matrix for all batches
    check(shape);
  }
}

/// Copies of rows of several lengths, up to three segments (row_copies.cu), with several
/// alignments. The elements around the rows do not change.
void test_row_copies() {
  for (const int64_t columns : {1, 7, 8, 9, 100, 2047, 2048, 2049, 3072, 5000}) {
    for (int64_t shift = 0; shift < 8; ++shift) {
      for (const bool back : {false, true}) {
        const int64_t rows = 5, row = columns + shift, wide = hirgen::packed_row(columns) + 8;
        const auto elements = index(rows * wide + 8);
        const std::vector<float> values = integers(elements, 4), before(elements, 3.0F);
        const Elements in(DType::kBf16, values), out(DType::kBf16, before);
        auto* to = static_cast<uint16_t*>(out.get());
        const auto* from = static_cast<const uint16_t*>(in.get());
        const int64_t near = back ? row : wide, far = back ? wide : row;
        const hirgen::RowCopy copy{to + (back ? shift : 0),
                                   from + (back ? 0 : shift),
                                   near,
                                   far,
                                   0,
                                   0,
                                   rows,
                                   columns,
                                   1,
                                   2};
        hirgen::launch_row_copies(&copy, 1, stream(), kWhere);
        std::vector<float> want = before;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            want[index((back ? shift : 0) + r * near + c)] =
                values[index((back ? 0 : shift) + r * far + c)];
          }
        }
        expect_equal(out.read(), want, "rows of " + std::to_string(columns));
      }
    }
  }
}

}  // namespace

int main() { return run("math_matmul_packed", {test_packed_operands, test_row_copies}); }
