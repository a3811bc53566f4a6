// The text that describes a GEMM's shape.
#include <string>

#include "gemm/matrix.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

namespace {

const char* spelling(Epilogue epilogue) {
#define HG_NAME(enumerator, name, ...) #name,
  static constexpr const char* kNames[] = {"", HG_EPILOGUES(HG_NAME)};
#undef HG_NAME
  return kNames[static_cast<int>(epilogue)];
}

}  // namespace

std::string describe(const MatmulShape& s) {
  const auto matrix = [](const char* name, int64_t rows, int64_t cols, bool transposed) {
    return std::string(name) + "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]" +
           (transposed ? "^T" : "");
  };
  const Matrix a = given_a(s), b = given_b(s), c = given_c(s);
  const auto aligned = [](const char* name, const Matrix& to, DType type) {
    return to.alignment(type) == to.row_alignment(type)
               ? ""
               : std::string(", ") + name + " at " + std::to_string(to.alignment(type)) + " bytes";
  };
  return matrix("C", s.m, s.n, false) + " = " + matrix("A", a.rows, a.cols, s.transpose_a) + " " +
         matrix("B", b.rows, b.cols, s.transpose_b) +
         (s.bias ? " + bias[" + std::to_string(s.n) + "]" : "") +
         (s.addend ? matrix(" + addend", s.m, s.n, false) : "") +
         (s.epilogue == Epilogue::kNone ? "" : std::string(", then ") + spelling(s.epilogue)) +
         ", " + spelling(s.dtype) +
         (s.type_b() == s.dtype ? "" : std::string(" x ") + spelling(s.type_b())) +
         (s.result() == s.dtype ? "" : std::string(" to ") + spelling(s.result())) +
         (s.row_b > 0 ? ", rows of B at stride " + std::to_string(s.row_b) : "") +
         (s.scales ? ", scales of blocks" : "") + (s.row_scales ? ", scales of rows" : "") +
         (s.packs() ? ", packed" + std::string(s.pack_a ? " A" : "") + (s.pack_b ? " B" : "") +
                          (s.pack_c ? " C" : "")
                    : "") +
         (s.batch > 1
              ? ", " + std::to_string(s.batch) + " times at strides " + std::to_string(s.stride_a) +
                    ", " + std::to_string(s.stride_b) + ", " + std::to_string(s.stride_c)
              : "") +
         aligned("A", a, s.dtype) + aligned("B", b, s.type_b()) + aligned("C", c, s.result());
}

}  // namespace hirgen
