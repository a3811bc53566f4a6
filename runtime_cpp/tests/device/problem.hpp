// A GEMM on small integers, computed by cuBLASLt and by a naive loop.
#pragma once

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "test.hpp"

namespace device_test {

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

template <>
struct TypeOf<__nv_fp8_e4m3> {
  static constexpr cudaDataType_t kType = CUDA_R_8F_E4M3;
};
template <>
struct TypeOf<__nv_fp8_e5m2> {
  static constexpr cudaDataType_t kType = CUDA_R_8F_E5M2;
};

template <class T>
T make(float value) {
  if constexpr (sizeof(T) == 1) return static_cast<T>(value);
  if constexpr (std::is_same_v<T, float>) return value;
  if constexpr (std::is_same_v<T, __half>) return __float2half(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(value);
}
inline float value(float element) { return element; }
inline float value(__half element) { return __half2float(element); }
inline float value(__nv_bfloat16 element) { return __bfloat162float(element); }
inline float value(__nv_fp8_e4m3 element) { return static_cast<float>(element); }
inline float value(__nv_fp8_e5m2 element) { return static_cast<float>(element); }

/// A GEMM as cuBLASLt describes it. If `order` is CUBLASLT_ORDER_ROW, all matrices are row-major.
struct Shape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  int batch = 1;
  float alpha = 1, beta = 0;
  bool apart = false;  ///< D is another matrix than C
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t padding = 0;  ///< elements between the end of a line and the next line
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
};

/// One matrix, rows x columns per batch, filled with integers from -2 to 2.
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

template <class In, class Out = In, class Right = In>
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
    if (shape.apart) result = upload(std::vector<Out>(c.host.size()));
    OK(cudaDeviceSynchronize());
    stream = make_stream();
  }

  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V attribute_value) {
    OK(cublasLtMatmulDescSetAttribute(description, attribute, &attribute_value,
                                      sizeof attribute_value));
  }

  cublasStatus_t heuristic(cublasLtMatmulHeuristicResult_t* result) {
    int found = 0;
    const cublasStatus_t status = heuristics(result, 1, &found);
    return status == CUBLAS_STATUS_SUCCESS && found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : status;
  }

  cublasStatus_t heuristics(cublasLtMatmulHeuristicResult_t* results, int limit, int* found) {
    cublasLtMatmulPreference_t preference = nullptr;
    OK(cublasLtMatmulPreferenceCreate(&preference));
    uint64_t bytes = kWorkspace;
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &bytes, sizeof bytes));
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, description, a.layout, b.layout, c.layout, c.layout,
                                       preference, limit, results, found);
    OK(cublasLtMatmulPreferenceDestroy(preference));
    return status;
  }

  cublasStatus_t verdict(const cublasLtMatmulAlgo_t& algo,
                         cublasLtMatmulHeuristicResult_t* result) {
    return cublasLtMatmulAlgoCheck(handle, description, a.layout, b.layout, c.layout, c.layout,
                                   &algo, result);
  }

  cublasStatus_t run(const cublasLtMatmulAlgo_t* algo, cudaStream_t on, void* space, size_t bytes) {
    return cublasLtMatmul(handle, description, &shape.alpha, a.device, a.layout, b.device, b.layout,
                          &shape.beta, c.device, c.layout, result, c.layout, algo, space, bytes,
                          on);
  }

  float expected(int64_t batch, int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t i = 0; i < shape.k; ++i) {
      sum += (shape.transpose_a ? a.at(batch, i, row) : a.at(batch, row, i)) *
             (shape.transpose_b ? b.at(batch, column, i) : b.at(batch, i, column)) *
             (scale ? scale(row, column, i) : 1);
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
    std::vector<Out> got = download(result, c.host.size());
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
  /// The factor of the product of A[row, k] and B[k, column]. If the function is empty, the factor
  /// is 1.
  std::function<float(int64_t row, int64_t column, int64_t k)> scale;
  Operand<In> a;
  Operand<Right> b;
  Operand<Out> c;
  Out* result = c.device;
  std::vector<Out> bias_host;
  Out* bias = nullptr;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
};

}  // namespace device_test
