#pragma once

#ifdef __CUDACC__
/// Marks functions that run on the device and on the host.
#define HG_HOST_DEVICE __host__ __device__
#else
#define HG_HOST_DEVICE
#endif

#ifdef __CUDA_ARCH__
/// Unrolls the next loop in device code. The indices of arrays are then constants, so the arrays
/// can stay in registers.
#define HG_UNROLL _Pragma("unroll")
#else
#define HG_UNROLL
#endif
