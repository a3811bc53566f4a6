// A GEMM as a task of a stream.
#pragma once

#include <chrono>
#include <memory>

#include "blaslt/gemm.hpp"
#include "stream/task.hpp"

namespace hirgen_cpu {

// A GEMM writes at most this number of bytes of its workspace.
constexpr size_t kUsedWorkspace = size_t{64} << 10;

/// Returns a task that computes the GEMM, then keeps a processor busy for the time `extra`. The
/// task throws Failure if other work has changed the used bytes of the workspace meanwhile.
std::unique_ptr<Task> make_gemm_task(const Gemm& gemm, void* workspace, size_t bytes,
                                     std::chrono::milliseconds extra);

}  // namespace hirgen_cpu
