// What goes wrong at run time, and how an emitted program checks each call.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hirgen {

/// Exit codes of an emitted program, and result codes of its C ABI.
enum class Code : int {
  kOk = 0,
  kWrong = 1,        ///< the check counted wrong elements
  kUsage = 2,        ///< a bad option or argument
  kEnvironment = 3,  ///< launch variables, GPU, port, file: the machine is not as needed
  kDevice = 4,       ///< a CUDA, NCCL or cuBLAS call failed
  kPeer = 5,         ///< another rank died, stalled or runs another program
  kTimeout = 6,      ///< this rank waited longer than its deadline
  kInternal = 7,     ///< a mistake of hirgen
};

/// The one exception type of the runtime. `what()` is a complete message.
class Error : public std::runtime_error {
 public:
  /// `suspect` is the rank at fault when this rank only noticed; -1 when unknown or none.
  Error(Code code, const std::string& message, int suspect = -1)
      : std::runtime_error(message), code_(code), suspect_(suspect) {}
  /// The exit code that this error leads to.
  Code code() const noexcept { return code_; }
  /// The rank that this error is blamed on, -1 if none is known.
  int suspect() const noexcept { return suspect_; }

 private:
  Code code_;
  int suspect_;
};

/// Where in the spec the host program stands ("spec.yaml:12:5 allgather A_s"); the
/// watchdog reports it when the host itself is stuck in a call. Never null.
extern std::atomic<const char*> host_position;

/// Statements that the host has issued since the process started. A host that issues
/// nothing for a whole deadline is stuck; the rank that issued least holds up the others.
extern std::atomic<uint64_t> host_statements;

/// How long settle() waits, in seconds: the deadline of the newest context.
extern std::atomic<double> settle_seconds;

/// Throws Error(kDevice) unless `status` is success. `where` is the spec position.
void check(cudaError_t status, const char* call, const char* where, const char* file, int line);
/// The same for NCCL; ncclInProgress is not an error here (see HG_NCCL).
void check(ncclResult_t status, const char* call, const char* where, const char* file, int line);
/// The same for cuBLAS.
void check(cublasStatus_t status, const char* call, const char* where, const char* file, int line);

/// Polls a non-blocking communicator until its last call is enqueued; throws on an
/// asynchronous error, and kTimeout after the context's deadline.
void settle(ncclComm_t comm, const char* where);

}  // namespace hirgen

/// Runs a CUDA or cuBLAS call; `where` is a string literal with the spec position.
#define HG_CHECK(call, where)                                        \
  do {                                                               \
    ::hirgen::host_position.store(where, std::memory_order_relaxed); \
    ::hirgen::check((call), #call, where, __FILE__, __LINE__);       \
  } while (false)

/// Runs an NCCL call on a non-blocking communicator and waits until it is enqueued.
#define HG_NCCL(comm, call, where)   \
  do {                               \
    HG_CHECK(call, where);           \
    ::hirgen::settle((comm), where); \
  } while (false)
