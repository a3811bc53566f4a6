// Elementwise reduction over the ranks' buffers.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace hirgen_cpu {

/// Returns the size of an element in bytes; 0 for an unknown type.
size_t size_of(ncclDataType_t type);

/// Sets result[i] = sources[0][i] op sources[1][i] op ... for each i below `count`, in this order.
/// 16-bit floats accumulate in fp32, with one rounding at the end; other types in their own type.
/// Integer sums and products wrap. `result` may be one of the sources.
void reduce(void* result, const std::vector<const void*>& sources, size_t count,
            ncclDataType_t type, ncclRedOp_t op);

}  // namespace hirgen_cpu
