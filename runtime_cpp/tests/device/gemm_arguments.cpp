// Tests of cuBLASLt beyond plain GEMMs: workspaces, strides, operands that are not read, epilogues
// after an addend, and the errors of wrong arguments.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cmath>
#include <limits>

#include "problem.hpp"
#include "test.hpp"

using namespace device_test;

namespace {

using Result = cublasLtMatmulHeuristicResult_t;

template <class In, class Out = In>
void gemm(const Shape& shape) {
  Problem<In, Out> problem(shape);
  Result result;
  OK(problem.heuristic(&result));
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}

/// fp32 results of 16-bit GEMMs, with addends and in batches.
void wide_results() {
  for (const bool apart : {false, true}) {
    gemm<__nv_bfloat16, float>({.m = 64, .n = 32, .k = 256, .beta = 1, .apart = apart});
    gemm<__half, float>(
        {.m = 64, .n = 32, .k = 256, .transpose_a = true, .beta = 1, .apart = apart});
  }
  gemm<__half, float>({.m = 32, .n = 32, .k = 512, .transpose_b = true, .batch = 3});
}

/// The epilogue comes after the addend.
void epilogues_behind_an_addend() {
  for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
                                            CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU}) {
    gemm<__nv_bfloat16>({.m = 64,
                         .n = 32,
                         .k = 32,
                         .transpose_a = true,
                         .beta = 1,
                         .apart = true,
                         .epilogue = epilogue});
  }
}

/// With beta = 0, C is not read: NaN there does not reach the result.
void unread_addend() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  const std::vector<float> none(problem.c.host.size(), std::numeric_limits<float>::quiet_NaN());
  OK(cudaMemcpy(problem.c.device, none.data(), none.size() * sizeof(float),
                cudaMemcpyHostToDevice));
  OK(cudaDeviceSynchronize());
  Result result;
  OK(problem.heuristic(&result));
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}

/// A stride of 0: every GEMM of a batch has the same operand.
void one_operand_for_all() {
  Problem<__nv_bfloat16> problem({.m = 64, .n = 32, .k = 64, .batch = 3});
  const size_t one = problem.b.host.size() / 3;
  for (size_t i = 0; i < one; ++i) {
    problem.b.host[one + i] = problem.b.host[2 * one + i] = problem.b.host[i];
  }
  problem.b.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  Result result;
  OK(problem.heuristic(&result));
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}

/// The algorithms respect the limit on the workspace.
void workspace_limits() {
  Problem<__nv_bfloat16> problem({.m = 64, .n = 64, .k = 128});
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 16, uint64_t{kWorkspace}}) {
    cublasLtMatmulPreference_t preference = nullptr;
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &limit, sizeof limit));
    Result results[8];
    int found = 0;
    OK(cublasLtMatmulAlgoGetHeuristic(problem.handle, problem.description, problem.a.layout,
                                      problem.b.layout, problem.c.layout, problem.c.layout,
                                      preference, 8, results, &found));
    OK(cublasLtMatmulPreferenceDestroy(preference));
    EXPECT(found >= 1 && found <= 8);
    for (int i = 0; i < found; ++i) {
      EXPECT(results[i].state == CUBLAS_STATUS_SUCCESS && results[i].workspaceSize <= limit);
      void* space = limit == 0 ? nullptr : problem.workspace;
      OK(problem.run(&results[i].algo, problem.stream, space, results[i].workspaceSize));
      problem.check();
    }
  }
}

/// A workspace smaller than the algorithm needs is refused.
void too_small_a_workspace() {
  Problem<__nv_bfloat16> problem({.m = 128, .n = 128, .k = 16384});
  Result results[16];
  int found = 0;
  OK(problem.heuristics(results, 16, &found));
  for (int i = 0; i < found; ++i) {
    if (results[i].workspaceSize == 0) continue;
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                  problem.run(&results[i].algo, problem.stream, problem.workspace, 0));
    return;
  }
  skip("no algorithm needs a workspace");
}

/// Attributes of a wrong size, and null attributes, are refused.
void attribute_sizes() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  const int64_t wide = 64;
  const auto narrow = static_cast<int16_t>(64);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasLtMatrixLayoutSetAttribute(problem.a.layout, CUBLASLT_MATRIX_LAYOUT_LD,
                                                 &narrow, sizeof narrow));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasLtMatrixLayoutSetAttribute(problem.a.layout, CUBLASLT_MATRIX_LAYOUT_LD,
                                                 nullptr, sizeof wide));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasLtMatmulDescSetAttribute(problem.description, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                               &narrow, sizeof narrow));
  cublasLtMatmulPreference_t preference = nullptr;
  OK(cublasLtMatmulPreferenceCreate(&preference));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasLtMatmulPreferenceSetAttribute(
                    preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &narrow, sizeof narrow));
  OK(cublasLtMatmulPreferenceDestroy(preference));
}

/// Null pointers and a request for no algorithm are refused.
void missing_arguments() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  Result result;
  OK(problem.heuristic(&result));
  int found = -1;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, problem.heuristics(&result, 0, &found));
  OK(problem.heuristic(&result));
  cublasLtHandle_t handle = problem.handle;
  problem.handle = nullptr;
  EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED,
                problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.handle = handle;
  float* a = problem.a.device;
  problem.a.device = nullptr;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.a.device = a;
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}

/// Layouts and descriptions can be destroyed after the handle.
void made_and_unmade() {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  OK(cublasLtCreate(&handle));
  OK(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  OK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 8, 8, 8));
  OK(cublasLtDestroy(handle));
  OK(cublasLtMatrixLayoutDestroy(layout));
  OK(cublasLtMatmulDescDestroy(description));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"wide_results", wide_results},
                       {"epilogues_behind_an_addend", epilogues_behind_an_addend},
                       {"unread_addend", unread_addend},
                       {"one_operand_for_all", one_operand_for_all},
                       {"workspace_limits", workspace_limits},
                       {"too_small_a_workspace", too_small_a_workspace},
                       {"attribute_sizes", attribute_sizes},
                       {"missing_arguments", missing_arguments},
                       {"made_and_unmade", made_and_unmade},
                   });
}
