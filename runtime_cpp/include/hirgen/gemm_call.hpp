// The arguments that emitted programs pass to cublasLtMatmul. If the plan of a GEMM uses another
// library, the same call runs that library.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace hirgen {

class GemmMethod;

/// The type of MatmulPlan::op: cuBLASLt's descriptor, or the method of another library. Within
/// HG_CHECK, cublasLtMatmul accepts a GemmOp in place of a descriptor (trace.hpp). This costs one
/// comparison of a pointer per call.
struct GemmOp {
  cublasLtMatmulDesc_t cublaslt = nullptr;
  const GemmMethod* other = nullptr;  ///< if not null, runs instead of cuBLASLt
  const void* bias = nullptr;         ///< bias vector of the next calls; null without a bias
  /// The scales of A and B in the next calls, row-major in fp32; null without scales.
  const void *scales_a = nullptr, *scales_b = nullptr;
};

/// The arguments of the call for a plan's algorithm. Only cuBLASLt uses the layouts and `algo`.
struct GemmCall {
  GemmOp op;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algo{};
  size_t workspace_bytes = 0;
};

/// Enqueues the GEMM of `op.other`, which is not null. `a`, `b`, `added` and `c` are row-major
/// matrices; `added` is read only if the GEMM's shape has an addend. Throws Error.
void run_other_library(const GemmOp& op, const void* a, const void* b, const void* added, void* c,
                       void* workspace, cudaStream_t stream);

}  // namespace hirgen
