// The checks of every cuBLASLt call that describes a GEMM.
#pragma once

#include <cublasLt.h>

#include <cstdio>

#include "blaslt/descriptor.hpp"
#include "blaslt/gemm.hpp"
#include "core/error.hpp"

namespace hirgen_cpu {

/// Checks shapes, types and batches of the four matrices, and returns a Gemm in which only m, n, k
/// and batch are set. Throws Failure if the matrices do not fit together. Of the pointers, checks
/// only that scales are set if a scale mode requires them.
Gemm check_shapes(const Description& op, const Layout& a, const Layout& b, const Layout& c,
                  const Layout& d);

/// Runs the body of a cuBLASLt call. Returns the status of a failure and prints its text, because
/// cuBLAS has no function for the last error.
template <class Body>
cublasStatus_t blas_api(const char* name, Body body) {
  cudaError_t status = api(name, body);
  if (status == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  fprintf(stderr, "hirgen CPU device: %s\n", cudaGetErrorString(cudaGetLastError()));
  switch (status) {
    case cudaErrorInitializationError:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    case cudaErrorInvalidValue:
      return CUBLAS_STATUS_INVALID_VALUE;
    case cudaErrorNotSupported:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace hirgen_cpu
