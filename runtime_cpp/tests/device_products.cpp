// cuBLASLt products against a naive loop, on small integers, so that every result is exact.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>

#include "device_test.hpp"

using namespace device_test;

namespace {

constexpr size_t kWorkspace = 4 << 20;

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr cudaDataType_t kType = CUDA_R_32F;
};
template <>
struct TypeOf<__half> {
  static constexpr cudaDataType_t kType = CUDA_R_16F;
};
template <>
struct TypeOf<__nv_bfloat16> {
  static constexpr cudaDataType_t kType = CUDA_R_16BF;
};

template <class T>
T make(float value) {
  if constexpr (std::is_same_v<T, float>) return value;
  if constexpr (std::is_same_v<T, __half>) return __float2half(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(value);
}
float value(float element) { return element; }
float value(__half element) { return __half2float(element); }
float value(__nv_bfloat16 element) { return __bfloat162float(element); }

/// A column-major product, as cuBLASLt sees it.
struct Shape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  int batch = 1;
  float alpha = 1, beta = 0;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t padding = 0;  ///< leading dimensions are this much longer than the columns
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
};

/// One operand: rows x columns per batch, filled with -2 to 2.
template <class T>
struct Operand {
  Operand(int64_t rows, int64_t columns, const Shape& shape, uint32_t seed)
      : rows(rows),
        columns(columns),
        order(shape.order),
        leading((order == CUBLASLT_ORDER_COL ? rows : columns) + shape.padding),
        stride(leading * (order == CUBLASLT_ORDER_COL ? columns : rows)) {
    for (int64_t i = 0; i < stride * shape.batch; ++i) {
      seed = seed * 1664525 + 1013904223;
      host.push_back(make<T>(static_cast<float>(seed >> 24) / 52.0F - 2.0F < 0 ? -1.0F : 1.0F));
      if (seed % 3 == 0) host.back() = make<T>(static_cast<float>(seed % 5) - 2.0F);
    }
    device = upload(host);
    OK(cudaDeviceSynchronize());
    OK(static_cast<cudaError_t>(
        cublasLtMatrixLayoutCreate(&layout, TypeOf<T>::kType, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), leading)));
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(order));
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(shape.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Operand() {
    OK(cublasLtMatrixLayoutDestroy(layout));
    OK(cudaFree(device));
  }
  template <class V>
  void set(cublasLtMatrixLayoutAttribute_t attribute, V attribute_value) {
    OK(cublasLtMatrixLayoutSetAttribute(layout, attribute, &attribute_value,
                                        sizeof attribute_value));
  }
  int64_t index(int64_t batch, int64_t row, int64_t column) const {
    return batch * stride +
           (order == CUBLASLT_ORDER_COL ? row + column * leading : column + row * leading);
  }
  float at(int64_t batch, int64_t row, int64_t column) const {
    return value(host[static_cast<size_t>(index(batch, row, column))]);
  }

  int64_t rows, columns;
  cublasLtOrder_t order;
  int64_t leading, stride;
  std::vector<T> host;
  T* device = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
};

template <class In, class Out = In>
struct Problem {
  explicit Problem(const Shape& shape)
      : shape(shape),
        a(shape.transpose_a ? shape.k : shape.m, shape.transpose_a ? shape.m : shape.k, shape, 1),
        b(shape.transpose_b ? shape.n : shape.k, shape.transpose_b ? shape.k : shape.n, shape, 2),
        c(shape.m, shape.n, shape, 3) {
    OK(cublasLtCreate(&handle));
    OK(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, shape.epilogue);
    for (int64_t i = 0; i < shape.m; ++i)
      bias_host.push_back(make<Out>(static_cast<float>(i % 5) - 2));
    bias = upload(bias_host);
    if ((shape.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    OK(cudaMalloc(&workspace, kWorkspace));
    stream = make_stream();
  }

  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V attribute_value) {
    OK(cublasLtMatmulDescSetAttribute(description, attribute, &attribute_value,
                                      sizeof attribute_value));
  }

  cublasStatus_t heuristic(cublasLtMatmulHeuristicResult_t* result) {
    cublasLtMatmulPreference_t preference = nullptr;
    OK(cublasLtMatmulPreferenceCreate(&preference));
    uint64_t bytes = kWorkspace;
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &bytes, sizeof bytes));
    int found = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description, a.layout, b.layout, c.layout, c.layout, preference, 1, result, &found);
    OK(cublasLtMatmulPreferenceDestroy(preference));
    return status == CUBLAS_STATUS_SUCCESS && found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : status;
  }

  cublasStatus_t run(const cublasLtMatmulAlgo_t* algo, cudaStream_t on, void* space, size_t bytes) {
    return cublasLtMatmul(handle, description, &shape.alpha, a.device, a.layout, b.device, b.layout,
                          &shape.beta, c.device, c.layout, c.device, c.layout, algo, space, bytes,
                          on);
  }

  float expected(int64_t batch, int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t i = 0; i < shape.k; ++i) {
      sum += (shape.transpose_a ? a.at(batch, i, row) : a.at(batch, row, i)) *
             (shape.transpose_b ? b.at(batch, column, i) : b.at(batch, i, column));
    }
    sum = shape.alpha * sum + (shape.beta != 0 ? shape.beta * c.at(batch, row, column) : 0);
    if ((shape.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
      sum += value(bias_host[static_cast<size_t>(row)]);
    }
    if ((shape.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) sum = std::max(sum, 0.0F);
    if ((shape.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) {
      double x = sum;
      sum =
          static_cast<float>(0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
    }
    return value(make<Out>(sum));
  }

  void check() {
    std::vector<Out> got = download(c.device, c.host.size());
    float tolerance = (shape.epilogue & CUBLASLT_EPILOGUE_GELU) != 0 ? 0.02F : 0.0F;
    for (int64_t batch = 0; batch < shape.batch; ++batch) {
      for (int64_t column = 0; column < shape.n; ++column) {
        for (int64_t row = 0; row < shape.m; ++row) {
          float want = expected(batch, row, column);
          float have = value(got[static_cast<size_t>(c.index(batch, row, column))]);
          if (std::abs(have - want) <= tolerance * std::max(1.0F, std::abs(want))) continue;
          return fail(__FILE__, __LINE__,
                      "batch " + std::to_string(batch) + " row " + std::to_string(row) +
                          " column " + std::to_string(column) + ": " + std::to_string(have) +
                          ", not " + std::to_string(want));
        }
      }
    }
  }

  Shape shape;
  Operand<In> a, b;
  Operand<Out> c;
  std::vector<Out> bias_host;
  Out* bias = nullptr;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
};

template <class In, class Out = In>
void product(const Shape& shape) {
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
      product<T>(
          {.m = 64, .n = 32, .k = 48, .transpose_a = transpose_a, .transpose_b = transpose_b});
      product<T>({.m = 136,
                  .n = 264,
                  .k = 520,
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b,
                  .padding = 8});
    }
  }
}

void batches() {
  product<float>({.m = 32, .n = 16, .k = 24, .batch = 5});
  product<__nv_bfloat16>({.m = 64, .n = 64, .k = 64, .transpose_a = true, .batch = 3});
}

void scales() {
  product<float>({.m = 64, .n = 32, .k = 16, .alpha = 2, .beta = 3});
  product<__half>({.m = 64, .n = 32, .k = 16, .alpha = 0.5F, .beta = 1});
}

void epilogues() {
  for (cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
        CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    product<__nv_bfloat16>({.m = 64, .n = 32, .k = 32, .transpose_a = true, .epilogue = epilogue});
    product<float>({.m = 64, .n = 32, .k = 32, .transpose_a = true, .epilogue = epilogue});
  }
}

void wide_results() { product<__nv_bfloat16, float>({.m = 64, .n = 64, .k = 1024}); }

void row_order() {
  product<float>({.m = 40, .n = 24, .k = 16, .order = CUBLASLT_ORDER_ROW});
  product<__nv_bfloat16>(
      {.m = 64, .n = 32, .k = 16, .transpose_b = true, .order = CUBLASLT_ORDER_ROW});
}

/// Two products on two streams with a workspace each, many times.
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
/// Two products at once that share a workspace: garbage on a GPU, a report here.
void shared_workspace() {
#if defined(__SANITIZE_THREAD__)
  skip("the sanitizer reports it first");
#endif
  Problem<float> first({.m = 64, .n = 64, .k = 64}), second({.m = 64, .n = 64, .k = 64});
  Gate gate;
  gate.close(first.stream);
  gate.close(second.stream);
  cublasLtMatmulHeuristicResult_t result;
  OK(first.heuristic(&result));
  for (int i = 0; i < 50; ++i) {
    OK(first.run(&result.algo, first.stream, first.workspace, kWorkspace));
    OK(second.run(&result.algo, second.stream, first.workspace, kWorkspace));
  }
  gate.open();
  EXPECT_STATUS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
  std::string text = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT(text.find("was written by other work while the product ran") != std::string::npos);
  fflush(nullptr);
  _exit(0);  // the fault is sticky
}

void broken_promises() {
  Problem<float> problem({.m = 64, .n = 32, .k = 16});
  cublasLtMatmulHeuristicResult_t result;
  OK(problem.heuristic(&result));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, 16));
  char* unaligned = static_cast<char*>(problem.workspace) + 4;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, unaligned, kWorkspace - 256));
  problem.a.device += 1;  // 4 bytes off the promised alignment of 256
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
  problem.a.device -= 1;
  problem.c.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  problem.c.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                problem.run(&result.algo, problem.stream, problem.workspace, kWorkspace));
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
                       {"epilogues", epilogues},
                       {"wide_results", wide_results},
                       {"row_order", row_order},
                       {"concurrent", concurrent},
                       {"bad_shapes", bad_shapes},
#ifdef HIRGEN_CPU_DEVICE
                       {"shared_workspace", shared_workspace},
                       {"broken_promises", broken_promises},
#endif
                   });
}
