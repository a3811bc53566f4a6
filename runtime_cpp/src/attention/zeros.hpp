// Clears rows of gradients that an attention method does not write.
#pragma once

#include <cuda_runtime.h>

#include "hirgen/attention.hpp"

namespace hirgen {

/// Sets rows `first` and later of the gradient of K or V to zero, in all heads. Its elements must
/// have 16 bits.
void clear_keys(const AttentionShape& shape, int64_t first, void* gradient,
                const AttentionStride& stride, cudaStream_t stream, const char* where);

}  // namespace hirgen
