#pragma once

#ifdef __CUDACC__
/// Marks what runs on the device, and may also run on the host.
#define HG_HOST_DEVICE __host__ __device__
#else
#define HG_HOST_DEVICE
#endif

#ifdef __CUDA_ARCH__
/// Unrolls the loop after it, so that the array that it runs over stays in registers.
#define HG_UNROLL _Pragma("unroll")
#else
#define HG_UNROLL
#endif
