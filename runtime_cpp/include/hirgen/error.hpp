// Errors at run time, and how an emitted program checks each call.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hirgen/trace.hpp"

namespace hirgen {

/// Exit codes of an emitted program, and result codes of its C ABI.
enum class Code : int {
  kOk = 0,
  kWrong = 1,        ///< the check counted wrong elements
  kUsage = 2,        ///< a bad option or argument
  kEnvironment = 3,  ///< unusable variables, GPU, memory, file or port; or ranks do not match
  kDevice = 4,       ///< a call of CUDA, NCCL or another library of the GPU failed
  kPeer = 5,         ///< another rank died, failed, stalled or did not join
  kTimeout = 6,      ///< a wait exceeded the deadline, or this rank stalled
  kInternal = 7,     ///< a bug in hirgen
};

/// The exception type of the runtime. `what()` is a complete message.
class Error : public std::runtime_error {
 public:
  /// `suspect` is the rank at fault if this rank only noticed the error; -1 if unknown.
  Error(Code code, const std::string& message, int suspect = -1)
      : std::runtime_error(message), code_(code), suspect_(suspect) {}
  /// The exit code of the process, or the result code of the C ABI.
  Code code() const noexcept { return code_; }
  /// The rank that is blamed for this error; -1 if unknown.
  int suspect() const noexcept { return suspect_; }

 private:
  Code code_;
  int suspect_;
};

/// The label of the statement that the host has begun last: its position in the spec and its text
/// ("spec.yaml:12:5 allgather of A"), or a step of the runtime ("start"). The watchdog reports it
/// when the host is stuck in a call. Never null.
extern std::atomic<const char*> host_position;

/// The number of statements that the process has begun. If two threads begin statements at the same
/// time, only one of them may be counted. The watchdog sees from changes of this number that the
/// host makes progress.
extern std::atomic<uint64_t> host_statements;

/// Begins a statement: sets host_position to `where`, a string that outlives the program, and
/// increments host_statements. In a process that survives failures, throws Error(kPeer) if the
/// thread is using a context of which a rank has failed, unless another exception is in flight.
void begin_statement(const char* where);

/// Throws unless `status` is success: Error(kEnvironment) if the process has too many open files,
/// else Error(kDevice). `call` is the text of the call, `where` the label of the statement.
void check(cudaError_t status, const char* call, const char* where, const char* file, int line);
/// The same for NCCL, except that ncclRemoteError (a network error, or the end of a remote process)
/// throws Error(kPeer) instead of Error(kDevice).
void check(ncclResult_t status, const char* call, const char* where, const char* file, int line);
/// The same for cuBLAS.
void check(cublasStatus_t status, const char* call, const char* where, const char* file, int line);

}  // namespace hirgen

/// Runs a CUDA, NCCL or cuBLAS call as one statement, and throws Error if it fails. `where` is the
/// label of the statement, a string that outlives the program. With --trace, a call of a function
/// of HG_TRACED_CALLS (trace.hpp) by its unqualified name is traced.
#define HG_CHECK(call, where)                                  \
  do {                                                         \
    HG_TRACED_CALLS(HG_USE_TRACED)                             \
    ::hirgen::begin_statement(where);                          \
    ::hirgen::check((call), #call, where, __FILE__, __LINE__); \
  } while (false)
