// Tests of GEMMs that a MatmulPlan describes, against loops on the host. All sums are exact in
// fp32, so results must be equal, except after gelu_tanh.
#include "hirgen/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gemm/cublaslt.hpp"
#include "hirgen/row_copies.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Epilogue;
using hirgen::MatmulPlan;
using hirgen::MatmulShape;

constexpr const char* kWhere = "spec.yaml:9:5 C = matmul(A, B)";

cublasLtHandle_t cublas() {
  static cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    HG_CHECK(cublasLtCreate(&made), "test");
    return made;
  }();
  return handle;
}

void* workspace() {
  static const Buffer buffer(hirgen::kWorkspaceBytes);
  return buffer.get();
}

/// Issues the GEMM the way an emitted program does.
void multiply(MatmulPlan& plan, const void* a, const void* b, void* c,
              const void* addend = nullptr) {
  const float* beta = addend == nullptr ? &hirgen::kZero : &hirgen::kOne;
  HG_CHECK(cublasLtMatmul(cublas(), plan.op, &hirgen::kOne, b, plan.b, a, plan.a, beta,
                          addend == nullptr ? c : addend, plan.c, c, plan.c, &plan.algo,
                          workspace(), plan.workspace_bytes, stream()),
           kWhere);
}

/// Issues the GEMM of a shape that packs operands, with a workspace of its own.
void multiply_packed(MatmulPlan& plan, const void* a, const void* b, void* c, const void* addend) {
  const Buffer memory(plan.scratch_bytes());
  packed_gemm(cublas(), plan, a, b, addend, c, memory.get(), stream(), kWhere);
  HG_CHECK(cudaStreamSynchronize(stream()), kWhere);  // before the memory is freed
}

size_t index(int64_t i) { return static_cast<size_t>(i); }

std::vector<float> gemm(const MatmulShape& s, const std::vector<float>& a,
                        const std::vector<float>& b, const std::vector<float>& bias,
                        const std::vector<float>& addend = {}) {
  std::vector<float> c;
  for (int64_t g = 0; g < s.batch; ++g) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        float sum = s.bias ? bias[index(j)] : 0;
        if (s.addend) sum += addend[index((g * s.m + i) * s.n + j)];
        for (int64_t k = 0; k < s.k; ++k) {
          const int64_t in_a = s.transpose_a ? k * s.m + i : i * s.k + k;
          const int64_t in_b = s.transpose_b ? j * s.k + k : k * s.n + j;
          sum += a[index(g * s.stride_a + in_a)] * b[index(g * s.stride_b + in_b)];
        }
        if (s.epilogue == Epilogue::kRelu) sum = std::max(sum, 0.0F);
        c.push_back(sum);
      }
    }
  }
  return c;
}

void check(MatmulShape s) {
  s.stride_a = s.m * s.k;
  s.stride_c = s.m * s.n;
  const std::vector<float> a = integers(index(s.batch * s.m * s.k), 1);
  const std::vector<float> b = integers(index(s.batch * s.k * s.n), 2);
  const std::vector<float> bias = integers(index(s.n), 3);
  const std::vector<float> addend = integers(index(s.batch * s.m * s.n), 10);
  const Elements left(s.dtype, a), right(s.type_b(), b);
  const Elements row(s.result(), bias), added(s.result(), addend);
  const Elements out(s.result(), s.batch * s.m * s.n);
  MatmulPlan plan(cublas(), s, kWhere);
  if (s.bias) plan.set_bias(row.get(), kWhere);
  const auto call = s.packs() ? multiply_packed : multiply;
  call(plan, left.get(), right.get(), out.get(), s.addend ? added.get() : nullptr);
  expect_equal(out.read(), rounded(s.result(), gemm(s, a, b, bias, addend)), describe(s));
}

/// All combinations of types, transposes, bias, batches, addend, fp32 results and ReLU. 48 x 80 x
/// 112 is aligned, and 5 x 7 x 11 is not.
void test_every_form() {
  for (const DType type : kTypes) {
    for (int form = 0; form < 128; ++form) {
      MatmulShape shape;
      shape.dtype = type;
      shape.transpose_a = (form & 1) != 0;
      shape.transpose_b = (form & 2) != 0;
      shape.bias = (form & 4) != 0;
      shape.batch = (form & 8) != 0 ? 3 : 1;
      shape.addend = (form & 16) != 0;
      if ((form & 32) != 0) shape.dtype_c = DType::kFp32;
      shape.epilogue = (form & 64) != 0 ? Epilogue::kRelu : Epilogue::kNone;
      if (shape.dtype_c == type) continue;
      for (const bool aligned : {true, false}) {
        shape.m = aligned ? 48 : 5;
        shape.n = aligned ? 80 : 7;
        shape.k = aligned ? 112 : 11;
        shape.stride_b = shape.k * shape.n;
        check(shape);
      }
    }
  }
}

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

/// 8-bit operands with each type of result; B and C are packed if rows of the result are unaligned.
void test_short_operands() {
  for (const DType a : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const DType b : {DType::kFp8E4m3, DType::kFp8E5m2}) {
      for (const DType c : kTypes) {
        for (int form = 0; form < 32; ++form) {
          MatmulShape shape{.m = 37, .n = 48, .k = 112, .transpose_b = true};
          shape.dtype = a, shape.dtype_b = b, shape.dtype_c = c;
          shape.bias = (form & 1) != 0;
          shape.batch = (form & 2) != 0 ? 3 : 1;
          shape.addend = (form & 4) != 0;
          shape.epilogue = (form & 8) != 0 ? Epilogue::kRelu : Epilogue::kNone;
          shape.pack_b = shape.pack_c = (form & 16) != 0;
          if (shape.pack_c) shape.n = 43;
          shape.stride_b = shape.k * shape.n;
          const bool both = a == DType::kFp8E5m2 && b == a;
          if (!both && !(shape.bias && c == DType::kFp32)) check(shape);
        }
      }
    }
  }
}

/// Checks a GEMM with a scale for each block of A and of B. `shift` moves the scales of B by that
/// number of elements, to where cuBLASLt cannot read them.
void check_scales(MatmulShape s, int64_t shift) {
  constexpr int64_t kBlock = hirgen::kScaleBlock;
  s.transpose_b = s.scales = true;
  const int64_t blocks = s.k / kBlock, squares = s.n / kBlock;
  const std::vector<float> a = integers(index(s.m * s.k), 1), b = integers(index(s.n * s.k), 2);
  std::vector<float> of_a, of_b(index(shift));
  for (int64_t i = 0; i < s.m * blocks; ++i) of_a.push_back(static_cast<float>(1 + i % 5) / 4);
  for (int64_t i = 0; i < squares * blocks; ++i) of_b.push_back(static_cast<float>(i % 7 - 2));
  const Elements left(s.dtype, a), right(s.type_b(), b), out(s.result(), s.m * s.n);
  const Elements scales_a(DType::kFp32, of_a), scales_b(DType::kFp32, of_b);
  std::vector<float> want;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const float scale = of_a[index(i * blocks + k / kBlock)] *
                            of_b[index(shift + j / kBlock * blocks + k / kBlock)];
        sum += a[index(i * s.k + k)] * b[index(j * s.k + k)] * scale;
      }
      want.push_back(sum);
    }
  }
  MatmulPlan plan(cublas(), s, kWhere);
  plan.set_scales(scales_a.get(), static_cast<float*>(scales_b.get()) + shift);
  multiply_packed(plan, left.get(), right.get(), out.get(), nullptr);
  expect_equal(out.read(), rounded(s.result(), want), describe(s));
}

/// Scales whose rows are, and are not, a multiple of 16 bytes, with one block and with several.
void test_scales_of_blocks() {
  for (const DType type : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const DType result : {DType::kBf16, DType::kFp32}) {
      for (const int64_t k : {128, 512, 640}) {
        MatmulShape shape{.m = k == 640 ? 37 : 36, .n = k == 512 ? 128 : 384, .k = k};
        shape.dtype = type, shape.dtype_b = DType::kFp8E4m3, shape.dtype_c = result;
        check_scales(shape, 0);
        check_scales(shape, 1);
      }
    }
  }
}

/// Versions of cuBLASLt and GPUs that lack scales of blocks have a reason, and others none.
void test_scales_may_be_refused() {
  using hirgen::refuses_scales;
  expect(refuses_scales(120900, 9).empty() && refuses_scales(130002, 9).empty(), "Hopper");
  expect(refuses_scales(120803, 9) == "scales of blocks need CUDA 12.9, and this cuBLASLt is 12.8",
         refuses_scales(120803, 9));
  expect(refuses_scales(130002, 10) ==
             "it has scales of blocks on Hopper GPUs, and this one is of capability 10",
         refuses_scales(130002, 10));
}

#ifdef HIRGEN_CPU_DEVICE
/// The error of a failed call names the call, the shape and the scale modes. Here A is unaligned,
/// for which a GPU reports no error.
void test_errors_name_the_gemm() {
  MatmulShape s{.m = 4, .n = 128, .k = 128, .transpose_b = true};
  s.scales = true, s.dtype = DType::kFp8E4m3, s.dtype_c = DType::kBf16;
  const Elements a(s.dtype, 2 * s.m * s.k), b(s.dtype, s.n * s.k), c(s.result(), s.m * s.n);
  const Elements scales(DType::kFp32, 4);
  MatmulPlan plan(cublas(), s, kWhere);
  plan.set_scales(scales.get(), scales.get());
  std::string text;
  try {
    multiply_packed(plan, static_cast<char*>(a.get()) + 1, b.get(), c.get(), nullptr);
  } catch (const hirgen::Error& error) {
    text = error.what();
  }
  for (const std::string& part : {std::string(kWhere), std::string("cublasLtMatmul("), describe(s),
                                  std::string("(cuBLASLt's A: BLK128x128_32F, B: VEC128_32F)")}) {
    expect(text.find(part) != std::string::npos, "an error with " + part + ": " + text);
  }
}
#endif

/// Copies of rows of several lengths, up to three segments (row_copies.cu), with several
/// alignments. The elements around the rows do not change.
void test_row_copies() {
  for (const int64_t columns : {1, 7, 8, 9, 100, 2047, 2048, 2049, 5000}) {
    for (const int64_t shift : {0, 1, 2, 4}) {
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

/// gelu_tanh of exact sums, with and without a bias. The tolerance allows a faster, less exact
/// tanh.
void test_gelu() {
  for (const DType type : kTypes) {
    for (const bool bias : {false, true}) {
      const MatmulShape shape{
          .m = 48, .n = 80, .k = 8, .bias = bias, .epilogue = Epilogue::kGeluTanh, .dtype = type};
      std::vector<float> a(48 * 8), b = integers(8 * 80, 2), row = integers(80, 3);
      for (size_t i = 0; i < a.size(); ++i) a[i] = 0.125F * static_cast<float>(i % 7) - 0.375F;
      const Elements left(type, a), right(type, b), added(type, row), out(type, 48 * 80);
      MatmulPlan plan(cublas(), shape, kWhere);
      if (bias) plan.set_bias(added.get(), kWhere);
      multiply(plan, left.get(), right.get(), out.get());
      std::vector<float> want = gemm(shape, a, b, row);
      for (float& x : want) {
        x *= 0.5F * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
      }
      const std::vector<float> got = out.read();
      for (size_t i = 0; i < got.size(); ++i) {
        const double size = std::max(1.0F, std::abs(want[i]));
        expect(std::abs(got[i] - want[i]) <= (type == DType::kFp32 ? 1e-3 : 1e-2) * size,
               describe(shape) + " at " + std::to_string(i));
      }
    }
  }
}

/// One matrix B for all batches: a stride of zero.
void test_batches_may_share_an_operand() {
  MatmulShape shape{.m = 16, .n = 24, .k = 32, .batch = 4};
  shape.stride_b = 0;
  check(shape);
}

/// A pipeline multiplies slices that start at any row.
void test_slices_at_odd_rows() {
  const MatmulShape shape{.m = 4, .n = 7, .k = 11, .dtype = DType::kFp16};
  const std::vector<float> a = integers(12 * 11, 4), b = integers(11 * 7, 5);
  const Elements left(shape.dtype, a), right(shape.dtype, b), out(shape.dtype, 12 * 7);
  MatmulPlan plan(cublas(), shape, kWhere);
  for (size_t slice = 0; slice < 3; ++slice) {
    multiply(plan, static_cast<char*>(left.get()) + slice * 4 * 11 * 2, right.get(),
             static_cast<char*>(out.get()) + slice * 4 * 7 * 2);
  }
  MatmulShape whole = shape;
  whole.m = 12;
  expect_equal(out.read(), rounded(shape.dtype, gemm(whole, a, b, {})), "three slices");
}

/// Slices of columns of B, with the leading dimension of the whole B.
void test_columns_of_b() {
  for (const bool transposed : {false, true}) {
    MatmulShape whole{.m = 1, .n = 14, .k = 11, .transpose_b = transposed, .dtype = DType::kFp16};
    const std::vector<float> a = integers(11, 4), b = integers(11 * 14, 5);
    const Elements left(whole.dtype, a), right(whole.dtype, b), out(whole.dtype, 14);
    MatmulShape shape = whole;
    shape.n = 7;
    shape.row_b = transposed ? 11 : 14;
    MatmulPlan plan(cublas(), shape, kWhere);
    for (size_t cut = 0; cut < 2; ++cut) {
      const size_t start = cut * 7 * (transposed ? 11 : 1);
      multiply(plan, left.get(), static_cast<char*>(right.get()) + start * 2,
               static_cast<char*>(out.get()) + cut * 7 * 2);
    }
    expect_equal(out.read(), rounded(whole.dtype, gemm(whole, a, b, {})), describe(shape));
  }
}

void test_plans_move() {
  const MatmulShape shape{.m = 8, .n = 8, .k = 8, .dtype = DType::kFp32};
  const std::vector<float> a = integers(64, 6), b = integers(64, 7);
  const Elements left(shape.dtype, a), right(shape.dtype, b), out(shape.dtype, 64);
  MatmulPlan plan;
  plan = MatmulPlan(cublas(), shape, kWhere);
  MatmulPlan moved(std::move(plan));
  multiply(moved, left.get(), right.get(), out.get());
  expect_equal(out.read(), gemm(shape, a, b, {}), "moved plan");
}

void test_every_candidate_is_right() {
  const MatmulShape shape{.m = 48, .n = 80, .k = 512};
  const std::vector<float> a = integers(48 * 512, 8), b = integers(512 * 80, 9);
  const Elements left(shape.dtype, a), right(shape.dtype, b);
  MatmulPlan plan(cublas(), shape, kWhere);
  const auto candidates = plan.candidates(8, kWhere);
  expect(!candidates.empty(), "there is a candidate");
  for (const auto& candidate : candidates) {
    expect(candidate.workspace_bytes <= hirgen::kWorkspaceBytes, "the workspace suffices");
    const Elements out(shape.dtype, 48 * 80);
    plan.use(candidate, hirgen::PlanSource::kTuned);
    multiply(plan, left.get(), right.get(), out.get());
    expect_equal(out.read(), rounded(shape.dtype, gemm(shape, a, b, {})), "candidate");
  }
}

void test_descriptions() {
  MatmulShape shape{.m = 4, .n = 8, .k = 16, .transpose_b = true, .bias = true};
  const std::string one = "C[4, 8] = A[4, 16] B[8, 16]^T + bias[8], bf16";
  expect(describe(shape) == one, describe(shape));
  shape.addend = true;
  const std::string sum = "C[4, 8] = A[4, 16] B[8, 16]^T + bias[8] + addend[4, 8], bf16";
  expect(describe(shape) == sum, describe(shape));
  shape.addend = false;
  shape.dtype_c = DType::kFp32;
  expect(describe(shape) == one + " to fp32", describe(shape));
  shape.dtype_c = {};
  shape.batch = 2;
  shape.stride_a = 64;
  shape.stride_c = 32;
  expect(describe(shape) == one + ", 2 times at strides 64, 0, 32", describe(shape));
  shape.epilogue = Epilogue::kGeluTanh;
  expect(
      describe(shape).starts_with("C[4, 8] = A[4, 16] B[8, 16]^T + bias[8], then gelu_tanh, bf16"),
      describe(shape));
  shape.epilogue = Epilogue::kNone;
  shape.batch = 1;
  shape.row_b = 24;
  expect(describe(shape) == one + ", rows of B at stride 24", describe(shape));
  shape.row_b = 0;
  shape.align_a = 8;
  shape.align_c = 2;
  expect(describe(shape) == one + ", A at 8 bytes, C at 2 bytes", describe(shape));
  shape.k = 9;  // rows of A are not aligned to more than 2 bytes anyway
  shape.align_a = 2;
  shape.align_c = 16;
  expect(describe(shape) == "C[4, 8] = A[4, 9] B[8, 9]^T + bias[8], bf16", describe(shape));
}

/// Operands that begin one element after a multiple of 16 bytes: each nonempty subset of A, B and
/// C.
void test_unaligned_operands() {
  const std::vector<float> a = integers(16 * 32, 1), b = integers(32 * 24, 2);
  for (const DType type : kTypes) {
    const auto size = static_cast<int64_t>(hirgen::size_of(type));
    for (int form = 1; form < 8; ++form) {
      const int64_t first[] = {form & 1, (form >> 1) & 1, (form >> 2) & 1};
      const auto bytes = [&](int operand) { return first[operand] == 0 ? int64_t{16} : size; };
      MatmulShape shape{.m = 16, .n = 24, .k = 32, .align_a = bytes(0), .align_b = bytes(1)};
      shape.align_c = bytes(2);
      shape.dtype = type;
      const Elements left(type, a, first[0]), right(type, b, first[1]);
      const Elements out(type, 16 * 24, first[2]);
      MatmulPlan plan(cublas(), shape, kWhere);
      multiply(plan, left.get(), right.get(), out.get());
      expect_equal(out.read(), rounded(type, gemm(shape, a, b, {})), describe(shape));
    }
  }
}

/// Algorithms from a file of choices, whose bytes may not be a valid algorithm.
void test_algorithms_are_checked() {
  const MatmulShape shape{.m = 48, .n = 80, .k = 512};
  const MatmulPlan plan(cublas(), shape, kWhere);
  const auto fit = plan.check(plan.algorithm());
  expect(fit && fit->workspace_bytes <= hirgen::kWorkspaceBytes, "its own algorithm fits");
  hirgen::GemmAlgorithm broken{plan.algorithm().library, std::string(64, '\xFF')};
  expect(!plan.check(broken), "bytes that are no algorithm do not fit");
  broken.bytes = plan.algorithm().bytes + '0';
  expect(!plan.check(broken), "more bytes do not fit");
  broken = {"another", plan.algorithm().bytes};
  expect(!plan.check(broken), "an algorithm of another library does not fit");
}

}  // namespace

int main() {
  return run("math_matmul", {test_every_form, test_packed_operands, test_short_operands,
                             test_scales_of_blocks, test_scales_may_be_refused,
#ifdef HIRGEN_CPU_DEVICE
                             test_errors_name_the_gemm,
#endif
                             test_row_copies, test_gelu, test_batches_may_share_an_operand,
                             test_slices_at_odd_rows, test_columns_of_b, test_plans_move,
                             test_every_candidate_is_right, test_descriptions,
                             test_unaligned_operands, test_algorithms_are_checked});
}
