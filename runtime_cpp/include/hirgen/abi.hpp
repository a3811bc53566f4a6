// The functions of the C ABI, for any program table. Each function of the emitted abi.cpp calls one
// of these functions, except hirgen_<name>_main. The functions do not throw. Calls on one handle,
// except abi_last_error, run one after another, even if they come from several threads. For a
// handle that is null, destroyed or unknown, and in a forked process, functions that return a code
// return HIRGEN_USAGE, except abi_destroy for null.
#pragma once

#include "hirgen/c_api.h"
#include "hirgen/program.hpp"

namespace hirgen {

/// hirgen_<name>_create: joins the other ranks and builds the program. On failure `*handle` is null
/// and abi_last_error(nullptr) returns the message. If `options` is null or options->world is 0,
/// rank, world, device and rendezvous come from the launcher's environment. If `options` is null,
/// the other options have the value zero. options->on_failure selects the effect of a failure of
/// any rank (c_api.h).
int abi_create(const ProgramTable& table, const hirgen_options* options, hirgen_handle** handle);

/// hirgen_<name>_run: issues one call on `stream`, a cudaStream_t of the handle's device. `tensors`
/// holds `count` device pointers, the inputs before the outputs. Does not wait for the GPU. With
/// CUDA IPC, a call with new buffers blocks the host until the ranks have shared the buffers.
///
/// HIRGEN_USAGE means that nothing was issued and the handle is unchanged. For example, a pointer
/// is unaligned or points to host memory, or the stream is being captured and the program does not
/// use CUDA graphs. Other ranks that made this call wait for this rank until the deadline. Before
/// any other error code is returned, the other ranks have been informed; every later run until
/// destroy returns the same code.
int abi_run(hirgen_handle* handle, void* stream, void* const* tensors, size_t count);

/// hirgen_<name>_status: returns HIRGEN_OK, or the code of the first failure of this or another
/// rank. After a failure, every call returns the same code.
int abi_status(hirgen_handle* handle);

/// Returns the number of inputs and outputs; 0 for a handle that is null, destroyed or unknown, and
/// in a forked process. Not part of the emitted C ABI.
size_t abi_tensor_count(const hirgen_handle* handle);

/// hirgen_<name>_tensor: describes the tensor at `index`, in the order of abi_run's pointers.
/// Returns HIRGEN_USAGE if the index is out of range or `tensor` is null.
int abi_tensor(hirgen_handle* handle, size_t index, hirgen_tensor* tensor);

/// hirgen_<name>_transport: returns the transport of the program's transfers, such as "nccl" or
/// "ipc-get". If only some ranks can share memory, the string may name two transports: "ipc-get
/// within nodes, nccl between them". Returns "" for a handle that is null, destroyed or unknown,
/// and in a forked process. The string is valid until destroy.
const char* abi_transport(const hirgen_handle* handle);

/// hirgen_<name>_destroy: waits for issued calls, informs the other ranks and frees all resources.
/// Returns HIRGEN_OK for a null handle. After a failure of any rank, it returns the code of the
/// failure, abi_last_error(nullptr) returns the report, and some memory may not be freed (c_api.h).
int abi_destroy(hirgen_handle* handle);

/// hirgen_<name>_last_error: returns the message of the last failed call on this handle, made by
/// any thread, also after destroy. For a handle that is null or unknown, and in a forked process,
/// it returns the calling thread's latest message of these: a failed create, a failure that destroy
/// returned, or the use of a null or unknown handle or, in a forked process, of any handle. Returns
/// "" if there is no message, and never null. The string is valid until the thread's next call of a
/// library function.
const char* abi_last_error(const hirgen_handle* handle);

/// hirgen_<name>_abi_version: returns the HIRGEN_ABI_VERSION that the library was built with.
int abi_version();

}  // namespace hirgen
