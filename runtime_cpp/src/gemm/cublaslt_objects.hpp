// The objects of a cuBLASLt GEMM: a descriptor, layouts, and the limits of its heuristic.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "gemm/matrix.hpp"
#include "hirgen/error.hpp"
#include "hirgen/gemm_call.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// cuBLASLt's epilogue for the function and the bias of a shape. cuBLASLt's gelu is the tanh form.
inline cublasLtEpilogue_t epilogue_of(const MatmulShape& s) {
  switch (s.epilogue) {
#define HG_CASE(enumerator, name, alone, with_bias) \
  case Epilogue::enumerator:                        \
    return s.bias ? (with_bias) : (alone);
    HG_EPILOGUES(HG_CASE)
#undef HG_CASE
    case Epilogue::kNone:
      break;
  }
  return s.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

inline cudaDataType_t cuda_type(DType type) {
#define HG_CUDA(enumerator, name, element, value, bytes, digits, stored, cuda, ...) \
  if (type == DType::enumerator) return cuda;
  HG_FLOAT_TYPES(HG_CUDA)
#undef HG_CUDA
  return CUDA_R_32F;  // not reached: GEMMs have no integers
}

template <typename T>
void set_attribute(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t attribute,
                   const T& value, const char* where) {
  HG_CHECK(cublasLtMatmulDescSetAttribute(op, attribute, &value, sizeof(value)), where);
}

/// Makes cuBLASLt read scales. cuBLASLt's A is the shape's B. With scales of blocks, there is one
/// for each block of 128 x 128 elements of its A, and one for each 128 elements along k of its B.
/// With scales of rows, there is one for each row of its A (op(A)), and one for each column of its
/// B. Does nothing before CUDA 12.9, where cuBLASLt has no such scales and refuses_scales() gives a
/// reason.
inline void set_scale_modes([[maybe_unused]] cublasLtMatmulDesc_t op,
                            [[maybe_unused]] const MatmulShape& shape,
                            [[maybe_unused]] const char* where) {
#if defined(HIRGEN_CPU_DEVICE) || CUBLAS_VERSION >= 120900
  const auto mode = [&](cublasLtMatmulMatrixScale_t of_blocks) {
    return static_cast<int32_t>(shape.row_scales ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
                                                 : of_blocks);
  };
  set_attribute(op, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                mode(CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F), where);
  set_attribute(op, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                mode(CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F), where);
  // The heuristic returns CUBLAS_STATUS_INVALID_VALUE for a mode whose pointer is null, but does
  // not read the scales. run() sets the pointers of a call.
  alignas(16) static constexpr float kUnread[4] = {};
  set_attribute(op, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(kUnread), where);
  set_attribute(op, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(kUnread), where);
#endif
}

/// A matrix as cuBLASLt sees it: transposed and column-major, in the same memory.
inline cublasLtMatrixLayout_t layout_of(const Matrix& matrix, DType type, const char* where) {
  cublasLtMatrixLayout_t layout = nullptr;
  HG_CHECK(cublasLtMatrixLayoutCreate(&layout, cuda_type(type), static_cast<uint64_t>(matrix.cols),
                                      static_cast<uint64_t>(matrix.rows), matrix.leading()),
           where);
  if (matrix.batch == 1) return layout;
  const auto count = static_cast<int32_t>(matrix.batch);
  HG_CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                            sizeof(count)),
           where);
  HG_CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                            &matrix.stride, sizeof(matrix.stride)),
           where);
  return layout;
}

/// The limits within which the heuristic chooses algorithms. Owns the cuBLASLt object.
class CublasltPreference {
 public:
  CublasltPreference(const MatmulShape& shape, const char* where) : where_(where) {
    HG_CHECK(cublasLtMatmulPreferenceCreate(&preference_), where);
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    // Split-k may add partial sums only in fp32; otherwise results would be rounded twice.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    // cuBLASLt's A is the shape's B: the operands are swapped.
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, operand_b(shape).alignment(shape.type_b()));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, operand_a(shape).alignment(shape.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, result(shape).alignment(shape.result()));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, result(shape).alignment(shape.result()));
  }
  ~CublasltPreference() { static_cast<void>(cublasLtMatmulPreferenceDestroy(preference_)); }
  CublasltPreference(const CublasltPreference&) = delete;
  CublasltPreference& operator=(const CublasltPreference&) = delete;

  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    HG_CHECK(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof(value)),
             where_);
  }

  const char* where_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

/// The descriptor and layouts of a shape. Owns the cuBLASLt objects.
class CublasltObjects {
 public:
  /// With `rounded`, the layouts of A and B have k rounded up to packed_row(k).
  CublasltObjects(const MatmulShape& shape, const char* where, bool rounded = false)
      : CublasltObjects() {  // from here on, the destructor runs if this constructor throws
    cublasLtMatmulDesc_t& op = call.op.cublaslt;
    HG_CHECK(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F), where);
    set_attribute(op, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                  where);
    set_attribute(op, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                  where);
    // cuBLASLt's bias has an element for each row of the column-major result: each column of C.
    set_attribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape), where);
    if (shape.scales || shape.row_scales) set_scale_modes(op, shape, where);
    const Matrix left = operand_a(shape), right = operand_b(shape);
    call.a = layout_of(rounded ? left.rounded(!shape.transpose_a) : left, shape.dtype, where);
    call.b = layout_of(rounded ? right.rounded(shape.transpose_b) : right, shape.type_b(), where);
    call.c = layout_of(result(shape), shape.result(), where);
  }
  ~CublasltObjects() {
    if (call.c != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(call.c));
    if (call.b != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(call.b));
    if (call.a != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(call.a));
    if (call.op.cublaslt != nullptr) static_cast<void>(cublasLtMatmulDescDestroy(call.op.cublaslt));
  }
  CublasltObjects(const CublasltObjects&) = delete;
  CublasltObjects& operator=(const CublasltObjects&) = delete;

  GemmCall call;

 private:
  CublasltObjects() = default;
};

}  // namespace hirgen
