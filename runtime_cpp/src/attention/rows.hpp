// Attention a row at a time: what the CPU device does, and what the kernels are tested against.
#pragma once

#include <cuda_runtime.h>

#include "hirgen/attention.hpp"

namespace hirgen {

void attend_by_rows(const AttentionShape& shape, const AttentionLayout& layout,
                    const AttentionOperands& operands, cudaStream_t stream, const char* where);

void attend_back_by_rows(const AttentionShape& shape, const AttentionLayout& layout,
                         const AttentionLayout& gradients, const AttentionGradOperands& operands,
                         cudaStream_t stream, const char* where);

}  // namespace hirgen
