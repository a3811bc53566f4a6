// cuBLASLt as a GEMM library.
#pragma once

#include "gemm/library.hpp"

namespace hirgen {

extern const GemmLibrary kCublaslt;

/// Sets the bias of all later calls of cublasLtMatmul with this descriptor.
void set_cublaslt_bias(cublasLtMatmulDesc_t op, const void* bias, const char* where);

}  // namespace hirgen
