// Groups: the operations issued between ncclGroupStart and ncclGroupEnd become one task per
// communicator. In the task, collectives run one after another, at the same time as all sends and
// receives.
#pragma once

#include <memory>
#include <vector>

#include "nccl/operation.hpp"

namespace hirgen_cpu {

/// Issues an operation: immediately, or at the end of this thread's open group.
void issue(const std::shared_ptr<Comm>& comm, const OpCall& call, cudaStream_t stream);

/// Notes the error of a refused call. If this thread has an open group, ncclGroupEnd issues nothing
/// and returns an error.
void refuse_group(ncclResult_t result);

}  // namespace hirgen_cpu
