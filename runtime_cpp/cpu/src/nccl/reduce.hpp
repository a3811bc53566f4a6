// Elementwise reduction over the ranks' buffers.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace hirgen_cpu {

/// Bytes of an element.
size_t size_of(ncclDataType_t type);

/// result[i] = sources[0][i] op sources[1][i] op ... in this order. Floating types accumulate in
/// fp32 (fp64 in fp64) with one rounding at the end; integers wrap. `result` may be one of the
/// sources.
void reduce(void* result, const std::vector<const void*>& sources, size_t count,
            ncclDataType_t type, ncclRedOp_t op);

}  // namespace hirgen_cpu
