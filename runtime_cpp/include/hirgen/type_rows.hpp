// Element types, as macros that call their argument for each row.
// Code generated from model/domain/element_types.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// Types that operations compute in. row(enumerator, name, C++ type, number in the C ABI, bytes,
/// bits after the point, name in safetensors files, types for cuBLASLt, cuDNN and tensor cores,
/// exponent of the smallest normal number)
#define HG_NUMBER_TYPES(row) \
  row(kBf16, bf16, __nv_bfloat16, 2, 2, 7, BF16, CUDA_R_16BF, BFLOAT16, bf16, -126) \
  row(kFp16, fp16, __half, 1, 2, 10, F16, CUDA_R_16F, HALF, f16, -14) \
  row(kFp32, fp32, float, 0, 4, 23, F32, CUDA_R_32F, FLOAT, f32, -126)

/// Numbers of 8 bits. Operations move and convert them, and GEMMs multiply them.
#define HG_SHORT_TYPES(row) \
  row(kFp8E4m3, fp8_e4m3, __nv_fp8_e4m3, 5, 1, 3, F8_E4M3, CUDA_R_8F_E4M3, , , -6) \
  row(kFp8E5m2, fp8_e5m2, __nv_fp8_e5m2, 6, 1, 2, F8_E5M2, CUDA_R_8F_E5M2, , , -14)

/// Integers. Kernels compute with them in fp32.
#define HG_INTEGER_TYPES(row) \
  row(kInt32, int32, int32_t, 3, 4, 23, I32, , , , ) \
  row(kInt64, int64, int64_t, 4, 8, 23, I64, , , , )

#define HG_FLOAT_TYPES(row) HG_NUMBER_TYPES(row) HG_SHORT_TYPES(row)
#define HG_TYPES(row) HG_FLOAT_TYPES(row) HG_INTEGER_TYPES(row)

// clang-format on
