// Stream handles, and how an API call puts work on a stream: at once, or into the graph that the
// stream is being captured into.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "stream/scheduler.hpp"

namespace hirgen_cpu {

class Capture;

/// Work of an API call. Called with the stream to push tasks on: now, or at each launch of the
/// graph that captured the call. It holds copies of everything it needs.
using Command = std::function<void(Stream&)>;

/// Puts `command` on the stream of `handle` (null: the legacy default stream).
void submit(cudaStream_t handle, Command command);

/// submit() for one task of one step.
void submit_call(cudaStream_t handle, std::function<void()> call);

/// The capture that the stream is part of, or null. Work on it then happens at the launch of a
/// graph.
std::shared_ptr<Capture> capture_of(cudaStream_t handle);

/// The stream of a handle. Throws Failure(cudaErrorInvalidResourceHandle) for one that was
/// destroyed or never made.
std::shared_ptr<Stream> resolve(cudaStream_t handle);

/// Makes later work of `stream` wait until `other` has reached `position`.
void push_wait(Stream& stream, const std::shared_ptr<Stream>& other, uint64_t position);

}  // namespace hirgen_cpu

/// What cudaStream_t points to.
struct CUstream_st {
  std::shared_ptr<hirgen_cpu::Stream> stream;
  std::shared_ptr<hirgen_cpu::Capture> capture;  ///< see capture_of(); other threads may look
};
