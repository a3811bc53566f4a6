// cuBLASLt as a GEMM library.
#pragma once

#include <cstdint>
#include <string>

#include "gemm/library.hpp"

namespace hirgen {

extern const GemmLibrary kCublaslt;

/// Why cuBLASLt of this version, such as 120900, has no scales of blocks or rows on GPUs of this
/// major compute capability; "" if it has them.
std::string refuses_scales(int64_t version, int major);

/// Sets the bias of all later calls of cublasLtMatmul with this descriptor.
void set_cublaslt_bias(cublasLtMatmulDesc_t op, const void* bias, const char* where);

}  // namespace hirgen
