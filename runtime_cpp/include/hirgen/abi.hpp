// The C ABI's functions over a program table. An emitted abi.cpp forwards to them, one
// line each; no exception leaves them. Calls on one handle come one after another, whatever
// threads make them; with a handle that is null or destroyed they return HIRGEN_USAGE.
#pragma once

#include "hirgen/c_api.h"
#include "hirgen/program.hpp"

namespace hirgen {

/// hirgen_<name>_create: joins the other ranks and builds the program. On failure
/// `*handle` is null and abi_last_error(nullptr) has the message. Options may be null.
/// options->on_failure says what a failure of any rank does from then on (c_api.h).
int abi_create(const ProgramTable& table, const hirgen_options* options, hirgen_handle** handle);

/// hirgen_<name>_run: issues one call on `stream` (a cudaStream_t) of the create's device.
/// `tensors` are `count` device pointers, inputs first. Does not block the host. HIRGEN_USAGE,
/// for pointers that are unaligned or to memory of the host and streams that are being captured
/// among others, leaves the handle as it was and the other ranks waiting, within their deadline.
/// After a code other than that and HIRGEN_OK they have been told, and every later run returns the
/// same code.
int abi_run(hirgen_handle* handle, void* stream, void* const* tensors, size_t count);

/// hirgen_<name>_status: HIRGEN_OK, or the code of the failure of this or another rank, for good.
int abi_status(hirgen_handle* handle);

/// hirgen_<name>_tensor_count: inputs and outputs; 0 for a null handle.
size_t abi_tensor_count(const hirgen_handle* handle);

/// hirgen_<name>_tensor: describes the index-th tensor.
int abi_tensor(hirgen_handle* handle, size_t index, hirgen_tensor* tensor);

/// hirgen_<name>_transport: what carries the program's transfers, on every rank alike:
/// "nccl", "ipc-get", "ipc-put" or, with `transport: auto` on several nodes, one of these
/// within nodes and another between them, in words. "" for a null handle; valid until destroy.
const char* abi_transport(const hirgen_handle* handle);

/// hirgen_<name>_destroy: waits for issued calls, says goodbye to the other ranks and
/// frees everything. A null handle is fine; one that was destroyed is HIRGEN_USAGE. After a failure
/// it returns its code, and abi_last_error(nullptr) has its report too.
int abi_destroy(hirgen_handle* handle);

/// hirgen_<name>_last_error: message of the last failure on this handle, in any thread; for one
/// that is null or destroyed that of the calling thread's last failed create, or use of such a
/// handle. Never null; valid until the thread's next call of a function of the library.
const char* abi_last_error(const hirgen_handle* handle);

/// hirgen_<name>_abi_version: HIRGEN_ABI_VERSION that the library was built with.
int abi_version();

}  // namespace hirgen
