#include "blaslt/descriptor.hpp"

#include <cstring>
#include <new>

using namespace hirgen_cpu;

namespace {

/// Sets one attribute. Returns CUBLAS_STATUS_INVALID_VALUE if `buf` is null or `bytes` is not the
/// size of the attribute.
template <class T>
cublasStatus_t set(T& field, const void* buf, size_t bytes) {
  if (buf == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&field, buf, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque, class Content>
cublasStatus_t create(Opaque** result, const Content& content) {
  if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *result = new Opaque{};
  new (*result) Content(content);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  return create(matLayout, Layout{type, CUBLASLT_ORDER_COL, rows, cols, ld, 1, 0});
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  delete matLayout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void* buf, size_t sizeInBytes) {
  Layout& layout = open(matLayout);
  switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(layout.type, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(layout.order, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(layout.rows, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(layout.columns, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(layout.leading, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(layout.batch, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(layout.batch_stride, buf, sizeInBytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType) {
  if (computeType != CUBLAS_COMPUTE_32F || scaleType != CUDA_R_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return create(matmulDesc, Description{CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
                                        nullptr, kTypeOfD});
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  delete matmulDesc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc,
                                              cublasLtMatmulDescAttributes_t attr, const void* buf,
                                              size_t sizeInBytes) {
  Description& description = open(matmulDesc);
  switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(description.transpose_a, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(description.transpose_b, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(description.epilogue, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(description.bias, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return set(description.scales_a, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return set(description.scales_b, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return set(description.scale_mode_a, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return set(description.scale_mode_b, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(description.bias_type, buf, sizeInBytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  return create(pref, Preference{0, {256, 256, 256, 256}});
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  delete pref;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  Preference& preference = open(pref);
  switch (attr) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(preference.workspace_bytes, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: {
      uint32_t mask = 0;  // ignored: the algorithms do not split k, so every mask allows them all
      return set(mask, buf, sizeInBytes);
    }
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(preference.alignment[attr - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], buf,
                 sizeInBytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
