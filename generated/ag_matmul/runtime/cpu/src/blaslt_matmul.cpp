// cublasLtMatmul and its heuristic: everything that a GPU would get wrong silently is checked here.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "blaslt_descriptor.hpp"
#include "blaslt_product.hpp"
#include "error.hpp"
#include "gemm.hpp"
#include "memory.hpp"
#include "stream.hpp"

using namespace hirgen_cpu;

namespace {

constexpr uint64_t kAlgorithm = 0x6872676e;

/// What cublasLtMatmulAlgo_t holds: what the heuristic was told, which a call must keep to.
struct Algorithm {
  uint64_t magic;
  uint64_t workspace_bytes;
  uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// Bytes from the first to the last element of a layout.
size_t span(const Layout& layout) {
  auto lines =
      static_cast<int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.columns : layout.rows);
  auto along =
      static_cast<int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns);
  int64_t last = (layout.batch - 1) * layout.batch_stride + (lines - 1) * layout.leading + along;
  return static_cast<size_t>(last) * size_of(layout.type);
}

Matrix matrix_of(const void* data, const Layout& layout, bool transposed) {
  Matrix matrix{const_cast<void*>(data), layout.type, 1, layout.leading, layout.batch_stride};
  if ((layout.order == CUBLASLT_ORDER_ROW) != transposed) {
    std::swap(matrix.row_stride, matrix.column_stride);
  }
  return matrix;
}

void check_layout(const Layout& layout, const char* name) {
  uint64_t along = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  if (layout.rows == 0 || layout.columns == 0 || layout.batch < 1 || layout.leading < 0 ||
      static_cast<uint64_t>(layout.leading) < along) {
    throw Failure{cudaErrorInvalidValue,
                  format("layout of %s: %llu x %llu, leading dimension %lld, batch %d", name,
                         static_cast<unsigned long long>(layout.rows),
                         static_cast<unsigned long long>(layout.columns),
                         static_cast<long long>(layout.leading), layout.batch)};
  }
}

/// Shapes, types and batches of the four matrices; the pointers are not looked at.
Product check_shapes(const Description& op, const Layout& a, const Layout& b, const Layout& c,
                     const Layout& d) {
  check_layout(a, "A");
  check_layout(b, "B");
  check_layout(c, "C");
  check_layout(d, "D");
  bool ta = op.transpose_a == CUBLAS_OP_T, tb = op.transpose_b == CUBLAS_OP_T;
  Product product;
  product.m = static_cast<int64_t>(ta ? a.columns : a.rows);
  product.k = static_cast<int64_t>(ta ? a.rows : a.columns);
  product.n = static_cast<int64_t>(tb ? b.rows : b.columns);
  product.batch = d.batch;
  auto k_of_b = static_cast<int64_t>(tb ? b.columns : b.rows);
  auto m = static_cast<uint64_t>(product.m), n = static_cast<uint64_t>(product.n);
  require(k_of_b == product.k, "A and B differ in k");
  require(d.rows == m && d.columns == n, "D is not m x n");
  require(c.rows == m && c.columns == n && c.type == d.type, "C is not like D");
  require(a.batch == d.batch && b.batch == d.batch && c.batch == d.batch, "batch counts differ");
  require(d.batch == 1 || d.batch_stride != 0, "all batches of D are the same memory");
  if (a.type != b.type || (a.type != d.type && d.type != CUDA_R_32F)) {
    throw Failure{cudaErrorNotSupported, "this combination of element types"};
  }
  return product;
}

/// That the call keeps to what the heuristic was told.
void check_algorithm(const cublasLtMatmulAlgo_t* algo, const std::array<const void*, 4>& pointers,
                     const void* workspace, size_t workspace_bytes) {
  require(reinterpret_cast<uintptr_t>(workspace) % 16 == 0, "the workspace is not aligned");
  if (algo == nullptr) return;
  Algorithm algorithm;
  memcpy(&algorithm, algo, sizeof algorithm);
  require(algorithm.magic == kAlgorithm, "the algorithm is no result of the heuristic");
  require(algorithm.workspace_bytes <= workspace_bytes,
          "the workspace is smaller than the algorithm's");
  for (size_t i = 0; i < pointers.size(); ++i) {
    uint32_t alignment = algorithm.alignment[i];
    if (alignment == 0 || reinterpret_cast<uintptr_t>(pointers[i]) % alignment == 0) continue;
    throw Failure{
        cudaErrorInvalidValue,
        format("%c is at %p, and the algorithm was chosen for pointers aligned to %u bytes",
               "ABCD"[i], pointers[i], alignment)};
  }
}

void set_epilogue(const Description& op, const Layout& d, Product& product) {
  product.relu = (op.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  product.gelu = (op.epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
  product.bias_type = op.bias_type == kTypeOfD ? d.type : static_cast<cudaDataType_t>(op.bias_type);
  if ((op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    require(op.bias != nullptr, "an epilogue with bias, and no bias pointer");
    product.bias = op.bias;
    require_device_memory(op.bias, static_cast<size_t>(product.m) * size_of(product.bias_type),
                          "bias");
  }
}

/// cublas status of a failure, and its text on stderr: cuBLAS has no last error to ask for.
template <class Body>
cublasStatus_t blas_api(const char* name, Body body) {
  cudaError_t status = api(name, body);
  if (status == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  fprintf(stderr, "hirgen CPU device: %s\n", cudaGetErrorString(cudaGetLastError()));
  return status == cudaErrorInvalidValue   ? CUBLAS_STATUS_INVALID_VALUE
         : status == cudaErrorNotSupported ? CUBLAS_STATUS_NOT_SUPPORTED
                                           : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  return blas_api("cublasLtMatmulAlgoGetHeuristic", [&] {
    require(lightHandle != nullptr && preference != nullptr, "null handle or preference");
    require(requestedAlgoCount > 0 && heuristicResultsArray != nullptr, "no room for a result");
    check_shapes(open(operationDesc), open(Adesc), open(Bdesc), open(Cdesc), open(Ddesc));
    cublasLtMatmulHeuristicResult_t result{};
    result.workspaceSize = std::min<size_t>(open(preference).workspace_bytes, kUsedWorkspace);
    Algorithm algorithm{kAlgorithm, result.workspaceSize, {}};
    std::copy_n(open(preference).alignment, 4, algorithm.alignment);
    memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
    heuristicResultsArray[0] = result;
    if (returnAlgoCount != nullptr) *returnAlgoCount = 1;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  return blas_api("cublasLtMatmul", [&] {
    require(lightHandle != nullptr && lightHandle->magic == kLiveHandle, "not a cuBLASLt handle");
    require(alpha != nullptr && beta != nullptr, "null alpha or beta");
    const Layout &a = open(Adesc), &b = open(Bdesc), &c = open(Cdesc), &d = open(Ddesc);
    Product product = check_shapes(open(computeDesc), a, b, c, d);
    memcpy(&product.alpha, alpha, sizeof(float));
    memcpy(&product.beta, beta, sizeof(float));
    require_device_memory(A, span(a), "A");
    require_device_memory(B, span(b), "B");
    require_device_memory(D, span(d), "D");
    if (product.beta != 0) require_device_memory(C, span(c), "C");
    require_device_memory(workspace, workspaceSizeInBytes, "workspace");
    check_algorithm(algo, {A, B, C, D}, workspace, workspaceSizeInBytes);
    product.a = matrix_of(A, a, open(computeDesc).transpose_a == CUBLAS_OP_T);
    product.b = matrix_of(B, b, open(computeDesc).transpose_b == CUBLAS_OP_T);
    product.c = matrix_of(C, c, false);
    product.d = matrix_of(D, d, false);
    set_epilogue(open(computeDesc), d, product);
    submit(stream, [=](Stream& target) {
      Scheduler::get().push(target, make_product_task(product, workspace, workspaceSizeInBytes));
    });
  });
}
