// Element types of GEMMs and reductions, to and from float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace hirgen_cpu {

inline float to_float(float value) { return value; }
inline float to_float(__half value) { return __half2float(value); }
inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

inline void from_float(float value, float* result) { *result = value; }
inline void from_float(float value, __half* result) { *result = __float2half(value); }
inline void from_float(float value, __nv_bfloat16* result) { *result = __float2bfloat16(value); }

}  // namespace hirgen_cpu
