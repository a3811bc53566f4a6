// A GEMM as a task of a stream.
#pragma once

#include <chrono>
#include <memory>

#include "blaslt/gemm.hpp"
#include "stream/task.hpp"

namespace hirgen_cpu {

// The most bytes of a workspace that a GEMM writes.
constexpr size_t kUsedWorkspace = size_t{64} << 10;

/// A task that runs the GEMM, then uses a processor for another `extra`. It throws Failure if other
/// work has changed the used bytes of the workspace meanwhile.
std::unique_ptr<Task> make_gemm_task(const Gemm& gemm, void* workspace, size_t bytes,
                                     std::chrono::milliseconds extra);

}  // namespace hirgen_cpu
