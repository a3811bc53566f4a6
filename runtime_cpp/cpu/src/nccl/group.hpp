// Groups: the calls between ncclGroupStart and ncclGroupEnd become one task per communicator. In
// the task, all calls make progress together.
#pragma once

#include <memory>
#include <vector>

#include "nccl/operation.hpp"

namespace hirgen_cpu {

/// Issues an operation: now, or at the end of this thread's open group.
void issue(const std::shared_ptr<Comm>& comm, const OpCall& call, cudaStream_t stream);

/// Notes a refused call: this thread's open group, if there is one, will return its result.
void refuse_group(ncclResult_t result);

}  // namespace hirgen_cpu
