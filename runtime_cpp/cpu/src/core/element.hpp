// Element types, and their enumerators in NCCL and cuBLASLt. The 8-bit and 16-bit floating types
// convert to and from float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// clang-format off
/// row(type, enumerator of NCCL, enumerator of cuBLASLt) for each type that operands, results and
/// biases of GEMMs can have.
#define HIRGEN_CPU_FLOATS(row) \
  row(__half, ncclFloat16, CUDA_R_16F) \
  row(float, ncclFloat32, CUDA_R_32F) \
  row(__nv_bfloat16, ncclBfloat16, CUDA_R_16BF)

/// The same for the 8-bit floating types. Only A and B of GEMMs can have them, and NCCL moves them
/// as bytes.
#define HIRGEN_CPU_SHORTS(row) \
  row(__nv_fp8_e4m3, ncclUint8, CUDA_R_8F_E4M3) \
  row(__nv_fp8_e5m2, ncclUint8, CUDA_R_8F_E5M2)

/// row(type, enumerator of NCCL) for each type of NCCL calls. The rows of HIRGEN_CPU_FLOATS have a
/// third argument, so `row` must be variadic.
#define HIRGEN_CPU_TYPES(row) \
  row(int8_t, ncclInt8) \
  row(uint8_t, ncclUint8) \
  row(int32_t, ncclInt32) \
  row(uint32_t, ncclUint32) \
  row(int64_t, ncclInt64) \
  row(uint64_t, ncclUint64) \
  row(double, ncclFloat64) \
  HIRGEN_CPU_FLOATS(row)
// clang-format on
