// Tests of cuBLASLt GEMMs against a naive loop. The operands are small integers, so all sums are
// exact, and results must be equal, except after GELU.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "problem.hpp"
#include "test.hpp"

using namespace device_test;

namespace {

template <class In, class Out = In>
void gemm(const Shape& shape) {
  Problem<In, Out> problem(shape);
  cublasLtMatmulHeuristicResult_t result;
  OK(problem.heuristic(&result));
  EXPECT(result.workspaceSize <= kWorkspace);
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}

template <class T>
void all_layouts() {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      gemm<T>({.m = 64, .n = 32, .k = 48, .transpose_a = transpose_a, .transpose_b = transpose_b});
      gemm<T>({.m = 136,
               .n = 264,
               .k = 520,
               .transpose_a = transpose_a,
               .transpose_b = transpose_b,
               .padding = 8});
    }
  }
}

void batches() {
  gemm<float>({.m = 32, .n = 16, .k = 24, .batch = 5});
  gemm<__nv_bfloat16>({.m = 64, .n = 64, .k = 64, .transpose_a = true, .batch = 3});
}

void scales() {
  gemm<float>({.m = 64, .n = 32, .k = 16, .alpha = 2, .beta = 3});
  gemm<__half>({.m = 64, .n = 32, .k = 16, .alpha = 0.5F, .beta = 1});
}

/// D = A B + C, with D in other memory than C. The GEMM does not change C.
void addends() {
  const Shape shape{.m = 64, .n = 32, .k = 48, .batch = 2, .beta = 1, .apart = true};
  gemm<float>(shape);
  gemm<__nv_bfloat16>(shape);
  Problem<__half> problem(shape);
  cublasLtMatmulHeuristicResult_t result;
  OK(problem.heuristic(&result));
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
  const std::vector<__half> left = download(problem.c.device, problem.c.host.size());
  EXPECT(memcmp(left.data(), problem.c.host.data(), left.size() * sizeof(__half)) == 0);
}

void epilogues() {
  for (cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
        CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    gemm<__nv_bfloat16>({.m = 64, .n = 32, .k = 32, .transpose_a = true, .epilogue = epilogue});
    gemm<float>({.m = 64, .n = 32, .k = 32, .transpose_a = true, .epilogue = epilogue});
  }
}

void wide_results() { gemm<__nv_bfloat16, float>({.m = 64, .n = 64, .k = 1024}); }

void row_order() {
  gemm<float>({.m = 40, .n = 24, .k = 16, .order = CUBLASLT_ORDER_ROW});
  gemm<__nv_bfloat16>(
      {.m = 64, .n = 32, .k = 16, .transpose_b = true, .order = CUBLASLT_ORDER_ROW});
}

int32_t id_of(const cublasLtMatmulAlgo_t& algo) {
  int32_t id = -1;
  size_t written = 0;
  OK(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id,
                                          &written));
  EXPECT(written == sizeof id);
  return id;
}

/// The heuristic gives several algorithms. All are correct, and they can be stored as bytes, on
/// which a tuner relies.
void algorithms() {
  Problem<__nv_bfloat16> problem({.m = 264, .n = 136, .k = 520});
  cublasLtMatmulHeuristicResult_t results[8];
  int found = 0;
  OK(problem.heuristics(results, 8, &found));
  EXPECT(found > 1);
  for (int i = 0; i < found; ++i) {
    cublasLtMatmulAlgo_t copy;
    memcpy(&copy, &results[i].algo, sizeof copy);
    cublasLtMatmulHeuristicResult_t checked;
    OK(problem.verdict(copy, &checked));
    EXPECT(checked.workspaceSize <= results[i].workspaceSize);
    EXPECT(id_of(copy) == id_of(results[i].algo));
    OK(problem.run(&copy, problem.stream, problem.workspace, results[i].workspaceSize));
    problem.check();
  }
  memset(&results[0].algo, 0xFF, sizeof results[0].algo);
  EXPECT(problem.verdict(results[0].algo, &results[1]) != CUBLAS_STATUS_SUCCESS);
}

/// Two GEMMs on two streams, each with its own workspace, many times.
void concurrent() {
  Problem<__nv_bfloat16> first({.m = 128, .n = 128, .k = 128}),
      second({.m = 128, .n = 64, .k = 256});
  cublasLtMatmulHeuristicResult_t x, y;
  OK(first.heuristic(&x));
  OK(second.heuristic(&y));
  for (int i = 0; i < 10; ++i) {
    OK(first.run(&x.algo, first.stream, first.workspace, kWorkspace));
    OK(second.run(&y.algo, second.stream, second.workspace, kWorkspace));
  }
  first.check();
  second.check();
}

void bad_shapes() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  problem.b.set(CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{17});  // k of A is 16
  problem.b.set(CUBLASLT_MATRIX_LAYOUT_LD, int64_t{17});
  cublasLtMatmulHeuristicResult_t result;
  EXPECT(problem.heuristic(&result) != CUBLAS_STATUS_SUCCESS);
  EXPECT(problem.run(nullptr, problem.stream, problem.workspace, kWorkspace) !=
         CUBLAS_STATUS_SUCCESS);
}

#ifdef HIRGEN_CPU_DEVICE
/// Two concurrent GEMMs that share a workspace: garbage on a GPU, an error on the CPU device.
void shared_workspace() {
#if defined(__SANITIZE_THREAD__)
  skip("the sanitizer reports it first");
#endif
  const Shape shape{.m = 128, .n = 128, .k = 256};  // takes long enough to overlap
  Problem<float> first(shape), second(shape);
  cublasLtMatmulHeuristicResult_t result;
  OK(first.heuristic(&result));
  cudaError_t status = cudaSuccess;
  for (int round = 0; round < 40 && status == cudaSuccess; ++round) {  // until two GEMMs overlap
    Gate gate;
    gate.close(first.stream);
    gate.close(second.stream);
    for (int i = 0; i < 50; ++i) {
      OK(first.run(&result.algo, first.stream, first.workspace, kWorkspace));
      OK(second.run(&result.algo, second.stream, first.workspace, kWorkspace));
    }
    gate.open();
    status = cudaDeviceSynchronize();
  }
  EXPECT_STATUS(cudaErrorLaunchFailure, status);
  std::string text = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT(text.find("was written by other work while the GEMM ran") != std::string::npos);
  end_case();  // the fault is sticky
}

void broken_promises() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  cublasLtMatmulHeuristicResult_t result;
  OK(problem.heuristic(&result));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, 16));
  problem.c.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  problem.c.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
}

/// Pointers with less alignment than required are refused: 256 bytes for operands by default and
/// for the workspace, 16 for the bias. A GPU's kernel may fault.
void unaligned_pointers() {
  Problem<__nv_bfloat16> problem(
      {.m = 64, .n = 32, .k = 16, .apart = true, .epilogue = CUBLASLT_EPILOGUE_BIAS});
  cublasLtMatmulHeuristicResult_t result;
  OK(problem.heuristic(&result));
  const auto refused = [&](size_t into_workspace) {
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                  problem.run(&result.algo, problem.stream,
                              static_cast<char*>(problem.workspace) + into_workspace,
                              kWorkspace - into_workspace));
  };
  __nv_bfloat16* const off_by_16_bytes = upload(std::vector<__nv_bfloat16>(64 * 32 + 8)) + 8;
  for (__nv_bfloat16** operand :
       {&problem.a.device, &problem.b.device, &problem.c.device, &problem.result}) {
    __nv_bfloat16* const aligned = std::exchange(*operand, off_by_16_bytes);
    refused(0);
    *operand = aligned;
  }
  refused(128);
  problem.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, problem.bias + 4);
  refused(0);
  problem.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, problem.bias);
  OK(problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.check();
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"layouts_fp32", all_layouts<float>},
                       {"layouts_fp16", all_layouts<__half>},
                       {"layouts_bf16", all_layouts<__nv_bfloat16>},
                       {"batches", batches},
                       {"scales", scales},
                       {"addends", addends},
                       {"epilogues", epilogues},
                       {"wide_results", wide_results},
                       {"row_order", row_order},
                       {"algorithms", algorithms},
                       {"concurrent", concurrent},
                       {"bad_shapes", bad_shapes},
#ifdef HIRGEN_CPU_DEVICE
                       {"shared_workspace", shared_workspace},
                       {"broken_promises", broken_promises},
                       {"unaligned_pointers", unaligned_pointers},
#endif
                   });
}
