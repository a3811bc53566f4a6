// Tests of a GEMM library other than cuBLASLt, through the calls that emitted programs make.
#include <cstdlib>
#include <string>
#include <vector>

#include "../naive_gemm.hpp"
#include "base/text.hpp"
#include "hirgen/matmul.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::Code;
using hirgen::Epilogue;
using hirgen::Error;
using hirgen::MatmulPlan;
using hirgen::MatmulShape;

constexpr const char* kWhere = "spec.yaml:9:5 C = matmul(A, B)";

/// Sets HIRGEN_GEMM while in scope.
struct Requested {
  explicit Requested(const char* library) { setenv("HIRGEN_GEMM", library, 1); }
  ~Requested() { unsetenv("HIRGEN_GEMM"); }
};

cublasLtHandle_t cublas() {
  static cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    HG_CHECK(cublasLtCreate(&made), "test");
    return made;
  }();
  return handle;
}

/// The operands of one GEMM, and the result by a loop on the host.
class Problem {
 public:
  explicit Problem(const MatmulShape& s)
      : shape(s),
        a_(integers(size(s.batch * s.m * s.k), 1)),
        b_(integers(size(s.batch * s.k * s.n), 2)),
        bias_(integers(size(s.n), 3)),
        added_(integers(size(s.batch * s.m * s.n), 4)) {}

  /// Issues the call as an emitted program does, and expects the right elements.
  void check(MatmulPlan& plan, const std::string& what) const {
    const Elements out(shape.result(), shape.batch * shape.m * shape.n);
    issue(plan, out.get(), stream());
    expect_result(out, what);
  }

  void issue(MatmulPlan& plan, void* c, cudaStream_t on) const {
    const void *a = left.get(), *b = right.get();
    void* const workspace = memory.get();
    if (shape.bias) plan.set_bias(row.get(), kWhere);
    if (shape.packs()) {
      packed_gemm(cublas(), plan, a, b, shape.addend ? sum.get() : nullptr, c, workspace, on,
                  kWhere);
    } else {
      HG_CHECK(cublasLtMatmul(cublas(), plan.op, &hirgen::kOne, b, plan.b, a, plan.a,
                              shape.addend ? &hirgen::kOne : &hirgen::kZero,
                              shape.addend ? sum.get() : c, plan.c, c, plan.c, &plan.algo,
                              workspace, plan.workspace_bytes, on),
               kWhere);
    }
  }

  void expect_result(const Elements& out, const std::string& what) const {
    const MatmulShape& s = shape;
    std::vector<float> want;
    for (int64_t g = 0; g < s.batch; ++g) {
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          float x = s.bias ? bias_[size(j)] : 0;
          if (s.addend) x += added_[size((g * s.m + i) * s.n + j)];
          for (int64_t k = 0; k < s.k; ++k) {
            const int64_t in_a = s.transpose_a ? k * s.m + i : i * s.k + k;
            const int64_t in_b = s.transpose_b ? j * s.k + k : k * s.n + j;
            x += a_[size(g * s.m * s.k + in_a)] * b_[size(g * s.k * s.n + in_b)];
          }
          want.push_back(s.epilogue == Epilogue::kRelu ? std::max(x, 0.0F) : x);
        }
      }
    }
    expect_equal(out.read(), rounded(s.result(), want), what + ": " + describe(s));
  }

  const MatmulShape shape;

 private:
  static size_t size(int64_t count) { return static_cast<size_t>(count); }

  std::vector<float> a_, b_, bias_, added_;

 public:
  const Elements left{shape.dtype, a_}, right{shape.dtype, b_};
  const Elements row{shape.result(), bias_}, sum{shape.result(), added_};
  const Buffer memory{hirgen::kWorkspaceBytes};
};

MatmulShape small(DType type = DType::kFp32) {
  MatmulShape shape{.m = 5, .n = 24, .k = 11, .batch = 2, .dtype = type};
  shape.stride_a = shape.m * shape.k;
  shape.stride_b = shape.k * shape.n;
  shape.stride_c = shape.m * shape.n;
  return shape;
}

void expect_error(const MatmulShape& shape, Code code, const std::string& message) {
  try {
    const MatmulPlan plan(cublas(), shape, kWhere);
    expect(false, "no error, but: " + message);
  } catch (const Error& error) {
    expect(error.code() == code && error.what() == message, error.what());
  }
}

/// HIRGEN_GEMM chooses the library, for all combinations of transposes, bias, addend and ReLU, in
/// fp32 and bf16.
void test_requested_library_computes_every_form() {
  const Requested requested("naive");
  for (int form = 0; form < 64; ++form) {
    MatmulShape shape = small((form & 1) != 0 ? DType::kBf16 : DType::kFp32);
    shape.transpose_a = (form & 2) != 0;
    shape.transpose_b = (form & 4) != 0;
    shape.bias = (form & 8) != 0;
    shape.addend = (form & 16) != 0;
    shape.epilogue = (form & 32) != 0 ? Epilogue::kRelu : Epilogue::kNone;
    MatmulPlan plan(cublas(), shape, kWhere);
    expect(plan.algorithm() == hirgen::GemmAlgorithm{"naive", "forward"}, "the requested library");
    expect(plan.op.cublaslt == nullptr, "no descriptor of cuBLASLt");
    expect(plan.source == hirgen::PlanSource::kHeuristic, "its first algorithm");
    Problem(shape).check(plan, "requested");
  }
}

/// If no library scales rows, a kernel scales the rounded result, also of packed operands. naive
/// has no scales, and cuBLASLt is excluded.
void test_scales_of_rows_by_a_kernel() {
  const Requested requested("naive");
  for (const DType type : {DType::kBf16, DType::kFp32}) {
    for (const bool packs : {false, true}) {
      MatmulShape s{.m = 5, .n = 43, .k = 96, .transpose_b = true, .row_scales = true};
      s.pack_b = s.pack_c = packs;
      s.dtype = DType::kFp8E4m3, s.dtype_c = type;
      const std::vector<float> a = integers(static_cast<size_t>(s.m * s.k), 1);
      const std::vector<float> b = integers(static_cast<size_t>(s.n * s.k), 2);
      std::vector<float> rows, columns, sums, want;
      for (int64_t i = 0; i < s.m; ++i) rows.push_back(1.0F + static_cast<float>(i) / 16);
      for (int64_t j = 0; j < s.n; ++j) columns.push_back(static_cast<float>(j % 5) - 1.5F);
      for (int64_t i = 0; i < s.m * s.n; ++i) {
        float sum = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          sum +=
              a[static_cast<size_t>(i / s.n * s.k + k)] * b[static_cast<size_t>(i % s.n * s.k + k)];
        }
        sums.push_back(sum);
      }
      for (const float sum : rounded(type, sums)) {
        const size_t i = want.size(), n = columns.size();
        want.push_back(sum * rows[i / n] * columns[i % n]);
      }
      const Elements left(s.dtype, a), right(s.dtype, b), out(type, s.m * s.n);
      const Elements of_rows(DType::kFp32, rows), of_columns(DType::kFp32, columns);
      MatmulPlan plan(cublas(), s, kWhere);
      expect(plan.algorithm().library == "naive", "the requested library");
      plan.set_scales(of_rows.get(), of_columns.get());
      const Buffer memory(plan.scratch_bytes() + 256);
      packed_gemm(cublas(), plan, left.get(), right.get(), nullptr, out.get(), memory.get(),
                  stream(), kWhere);
      expect_equal(out.read(), rounded(type, want), "by a kernel: " + describe(s));
    }
  }
}

/// If a shape packs operands, the library multiplies the packed copies.
void test_packed_operands() {
  const Requested requested("naive");
  for (int packs = 1; packs < 8; ++packs) {
    MatmulShape shape = small(DType::kBf16);
    shape.n = 43;
    shape.stride_b = shape.k * shape.n;
    shape.stride_c = shape.m * shape.n;
    shape.bias = shape.addend = true;
    shape.pack_a = (packs & 1) != 0;
    shape.pack_c = (packs & 4) != 0;
    shape.pack_b = shape.pack_c || (packs & 2) != 0;
    MatmulPlan plan(cublas(), shape, kWhere);
    expect(plan.scratch_bytes() >= 256, "the workspace holds the copies");
    Problem(shape).check(plan, "packed");
  }
}

/// Without HIRGEN_GEMM, cuBLASLt computes. A tuner may change to any candidate of both libraries
/// and back.
void test_candidates_of_both_libraries() {
  const Problem problem(small());
  MatmulPlan plan(cublas(), problem.shape, kWhere);
  expect(plan.algorithm().library == "cuBLASLt" && plan.op.other == nullptr, "the first library");
  auto candidates = plan.candidates(8, kWhere);
  expect(candidates.size() > 2, "candidates of both");
  expect(candidates.front().algorithm == plan.algorithm(), "the default is the first candidate");
  expect(candidates.back().algorithm.bytes == "backward", "the other library's are the last");
  candidates.push_back(candidates.front());
  for (const auto& candidate : candidates) {
    const auto checked = plan.check(candidate.algorithm);
    expect(checked && checked->workspace_bytes == candidate.workspace_bytes, "it is restored");
    plan.use(candidate, hirgen::PlanSource::kTuned);
    expect(plan.algorithm() == candidate.algorithm, "it is used");
    expect(plan.workspace_bytes == candidate.workspace_bytes, "with its workspace");
    problem.check(plan, candidate.algorithm.library);
  }
}

void test_moved_plans_keep_their_library() {
  const Requested requested("naive");
  const Problem problem(small());
  MatmulPlan plan;
  plan = MatmulPlan(cublas(), problem.shape, kWhere);
  MatmulPlan moved(std::move(plan));
  problem.check(moved, "moved");
}

/// A captured GEMM of the other library computes the result when its graph is launched.
void test_graphs() {
  const Requested requested("naive");
  const Problem problem(small());
  MatmulPlan plan(cublas(), problem.shape, kWhere);
  const Elements out(DType::kFp32, problem.shape.batch * problem.shape.m * problem.shape.n);
  HG_CHECK(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), kWhere);
  problem.issue(plan, out.get(), stream());
  cudaGraph_t graph = nullptr;
  HG_CHECK(cudaStreamEndCapture(stream(), &graph), kWhere);
  cudaGraphExec_t executable = nullptr;
  HG_CHECK(cudaGraphInstantiate(&executable, graph, 0), kWhere);
  HG_CHECK(cudaGraphLaunch(executable, stream()), kWhere);
  problem.expect_result(out, "graph");
  HG_CHECK(cudaGraphExecDestroy(executable), kWhere);
  HG_CHECK(cudaGraphDestroy(graph), kWhere);
}

void test_refused_shapes() {
  MatmulShape wide = small();
  wide.k = 1000;
  wide.stride_a = wide.m * wide.k;
  wide.stride_b = wide.k * wide.n;
  const MatmulPlan plan(cublas(), wide, kWhere);
  for (const auto& candidate : plan.candidates(8, kWhere)) {
    expect(candidate.algorithm.library == "cuBLASLt", "no candidate of a library that refuses");
  }
  expect(!plan.check({"naive", "forward"}), "no algorithm of a library that refuses");
  const Requested requested("naive");
  expect_error(wide, Code::kEnvironment,
               hirgen::format("%s: no GEMM library for %s; not naive: it is slow at this size",
                              kWhere, describe(wide).c_str()));
  const Requested unknown("none");
  expect_error(wide, Code::kUsage, "HIRGEN_GEMM=none: it is cuBLASLt or naive");
}

}  // namespace

int main() {
  hirgen::gemm_libraries().push_back(&naive::library());
  return run("math_gemm_library",
             {test_requested_library_computes_every_form, test_scales_of_rows_by_a_kernel,
              test_packed_operands, test_candidates_of_both_libraries,
              test_moved_plans_keep_their_library, test_graphs, test_refused_shapes});
}
