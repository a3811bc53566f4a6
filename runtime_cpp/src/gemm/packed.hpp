// Copies operands of GEMMs to the workspace, where a library then multiplies them: matrices with
// unaligned rows get aligned rows, and scales get the layout that the library reads.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "gemm/library.hpp"

namespace hirgen {

/// The offsets of a shape's copies in its workspace, in bytes. The library's own workspace begins
/// at `bytes`.
struct PackedOperands {
  size_t a = 0, b = 0, c = 0, bias = 0, scales_a = 0, scales_b = 0, bytes = 0;
};
PackedOperands packed_operands(const MatmulShape& shape);

/// Enqueues the copies of the operands that the shape packs, in one kernel; if it packs C, also of
/// the bias and the addend. The same kernel copies scales of rows that cuBLASLt cannot read in
/// place. With scales of blocks, enqueues copies of the scales of A, of A if 4 does not
/// divide m, and of the scales of B unless cuBLASLt can read them in place. Returns the operands
/// for the library. C is in the workspace if the shape packs C or the library computes more rows.
GemmOperands copy_operands(const MatmulShape& shape, const GemmOperands& given, void* workspace,
                           cudaStream_t stream, const char* where);

/// Enqueues the copy of the packed result at `made` to `c`.
void copy_result(const MatmulShape& shape, const void* made, void* c, cudaStream_t stream,
                 const char* where);

}  // namespace hirgen
