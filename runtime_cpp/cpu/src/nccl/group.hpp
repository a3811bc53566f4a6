// Groups: calls between ncclGroupStart and ncclGroupEnd become one task per communicator, in which
// all of them get on together.
#pragma once

#include <memory>
#include <vector>

#include "nccl/operation.hpp"

namespace hirgen_cpu {

/// Issues an operation: at once, or at the end of this thread's open group.
void issue(const std::shared_ptr<Comm>& comm, const OpCall& call, cudaStream_t stream);

/// A call was refused: the open group of this thread, if there is one, will end with that.
void refuse_group(ncclResult_t result);

}  // namespace hirgen_cpu
