// The functions of the C ABI over a program table. An emitted abi.cpp forwards to them, one line
// each. No exception leaves them. Calls on one handle run one after another, whatever threads make
// them. A handle that is null or destroyed gives HIRGEN_USAGE.
#pragma once

#include "hirgen/c_api.h"
#include "hirgen/program.hpp"

namespace hirgen {

/// hirgen_<name>_create: joins the other ranks and builds the program. On failure `*handle` is null
/// and abi_last_error(nullptr) returns the message. `options` may be null. options->on_failure
/// decides what a later failure of any rank does (c_api.h).
int abi_create(const ProgramTable& table, const hirgen_options* options, hirgen_handle** handle);

/// hirgen_<name>_run: issues one call on `stream` (a cudaStream_t) of the handle's device.
/// `tensors` are `count` device pointers, inputs first. Does not block the host.
///
/// HIRGEN_USAGE means that nothing was issued and the handle is unchanged: a pointer is unaligned
/// or to host memory, for example, or the stream is being captured. Other ranks that made this call
/// wait for this rank until the deadline. After any other error code the other ranks have been
/// informed, and every later run returns the same code.
int abi_run(hirgen_handle* handle, void* stream, void* const* tensors, size_t count);

/// hirgen_<name>_status: HIRGEN_OK, or the code of this or another rank's failure, which never
/// changes again.
int abi_status(hirgen_handle* handle);

/// hirgen_<name>_tensor_count: inputs and outputs; 0 for a null handle.
size_t abi_tensor_count(const hirgen_handle* handle);

/// hirgen_<name>_tensor: describes the tensor at `index`.
int abi_tensor(hirgen_handle* handle, size_t index, hirgen_tensor* tensor);

/// hirgen_<name>_transport: the transport of the program's transfers, the same on every rank:
/// "nccl", "ipc-get" or "ipc-put". With `transport: auto` on several nodes it describes two: one
/// within nodes and one between them. "" for a null handle; valid until destroy.
const char* abi_transport(const hirgen_handle* handle);

/// hirgen_<name>_destroy: waits for issued calls, informs the other ranks and frees everything. A
/// null handle is fine; a destroyed one gives HIRGEN_USAGE. After a failure it returns the code of
/// the failure, and abi_last_error(nullptr) its report.
int abi_destroy(hirgen_handle* handle);

/// hirgen_<name>_last_error: the message of the last failure on this handle, in any thread. For a
/// handle that is null or destroyed: the message of the calling thread's last failed create, or
/// last use of such a handle. Never null. Valid until the thread's next call of a library function.
const char* abi_last_error(const hirgen_handle* handle);

/// hirgen_<name>_abi_version: the HIRGEN_ABI_VERSION that the library was built with.
int abi_version();

}  // namespace hirgen
