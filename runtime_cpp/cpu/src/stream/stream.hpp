// Stream handles. An API call puts work on a stream immediately, or adds it to the capture that the
// stream is part of.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "stream/scheduler.hpp"

namespace hirgen_cpu {

class Capture;

/// The work of an API call: a function that pushes tasks on the stream that it gets. It is called
/// during the API call or, if the call was captured, at each launch of the graph. It must hold
/// copies of all its operands.
using Command = std::function<void(Stream&)>;

/// Calls `command` with the stream of `handle` (null: the legacy default stream), or adds it to the
/// stream's capture.
void submit(cudaStream_t handle, Command command);

/// Submits `call` as a task of one step (CallTask).
void submit_call(cudaStream_t handle, std::function<void()> call);

/// The capture that the stream is part of; null if there is none, and for a null handle. Work on a
/// captured stream runs when the graph is launched.
std::shared_ptr<Capture> capture_of(cudaStream_t handle);

/// Returns the stream of a handle; for null, the legacy default stream of the current device.
/// Throws Failure(cudaErrorInvalidResourceHandle) for a handle that was destroyed or never created.
std::shared_ptr<Stream> resolve(cudaStream_t handle);

/// Makes later work of `stream` wait until `other` has reached `position`.
void push_wait(Stream& stream, const std::shared_ptr<Stream>& other, uint64_t position);

}  // namespace hirgen_cpu

/// The object of a cudaStream_t.
struct CUstream_st {
  std::shared_ptr<hirgen_cpu::Stream> stream;
  std::shared_ptr<hirgen_cpu::Capture> capture;  ///< null if there is none; read by capture_of()
};
