// The content of the opaque descriptors of cublasLt.h.
#pragma once

#include <cublasLt.h>

#include <cstdint>

struct cublasLtContext {
  uint32_t magic;
};

namespace hirgen_cpu {

constexpr uint32_t kLiveHandle = 0x68726768;  ///< magic of a handle that was not destroyed

struct Layout {
  cudaDataType_t type;
  cublasLtOrder_t order;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch;
  int64_t batch_stride;
};

struct Description {
  cublasOperation_t transpose_a, transpose_b;
  cublasLtEpilogue_t epilogue;
  const void* bias;
  int32_t bias_type;  ///< a cudaDataType_t; kTypeOfD until the caller sets it
  const void *scales_a = nullptr, *scales_b = nullptr;
  /// Values of cublasLtMatmulMatrixScale_t.
  int32_t scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, scale_mode_b = scale_mode_a;
};
constexpr int32_t kTypeOfD = -1;

struct Preference {
  uint64_t workspace_bytes;
  uint32_t alignment[4];  ///< least alignment of A, B, C and D, in bytes
};

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Description) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

inline Layout& open(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
inline Description& open(cublasLtMatmulDesc_t description) {
  return *reinterpret_cast<Description*>(description);
}
inline Preference& open(cublasLtMatmulPreference_t preference) {
  return *reinterpret_cast<Preference*>(preference);
}

}  // namespace hirgen_cpu
