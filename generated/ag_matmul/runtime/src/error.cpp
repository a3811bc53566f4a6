#include "hirgen/error.hpp"

#include <unistd.h>

#include <chrono>

#include "backoff.hpp"
#include "fault.hpp"
#include "text.hpp"

namespace hirgen {

std::atomic<const char*> host_position{"start"};
std::atomic<uint64_t> host_statements{0};
std::atomic<double> settle_seconds{60};

namespace {

// One thread issues statements, so the counter needs no atomic read-modify-write.
void count_statement() {
  host_statements.store(host_statements.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  fault::statement();
}

[[noreturn]] void fail(Code code, const std::string& what, const char* call, const char* where,
                       const char* file, int line) {
  throw Error(code, format("%s: %s\n  in %s (%s:%d)", where, what.c_str(), call, file, line));
}

std::string describe(ncclResult_t status, ncclComm_t comm) {
  std::string text = std::string("NCCL: ") + ncclGetErrorString(status);
  const char* detail = ncclGetLastError(comm);
  if (detail != nullptr && *detail != '\0') text += std::string(" (") + detail + ")";
  return text;
}

// ncclRemoteError says that the cause is in another process.
Code code_of(ncclResult_t status) {
  return status == ncclRemoteError ? Code::kPeer : Code::kDevice;
}

}  // namespace

void check(cudaError_t status, const char* call, const char* where, const char* file, int line) {
  count_statement();
  if (status == cudaSuccess) [[likely]]
    return;
  fail(Code::kDevice,
       std::string("CUDA: ") + cudaGetErrorName(status) + ": " + cudaGetErrorString(status), call,
       where, file, line);
}

void check(ncclResult_t status, const char* call, const char* where, const char* file, int line) {
  count_statement();
  if (status == ncclSuccess || status == ncclInProgress) [[likely]]
    return;
  fail(code_of(status), describe(status, nullptr), call, where, file, line);
}

void check(cublasStatus_t status, const char* call, const char* where, const char* file, int line) {
  count_statement();
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  fail(Code::kDevice, std::string("cuBLAS: ") + cublasLtGetStatusString(status), call, where, file,
       line);
}

void settle(ncclComm_t comm, const char* where) {
  // Counted before the wait: a rank that waits here is ahead of one that never came.
  count_statement();
  Backoff backoff;
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> limit(settle_seconds.load(std::memory_order_relaxed));
  while (true) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t status = ncclCommGetAsyncError(comm, &state);
    if (status != ncclSuccess) state = status;
    if (state == ncclSuccess) return;
    if (state != ncclInProgress) {
      throw Error(code_of(state), std::string(where) + ": " + describe(state, comm));
    }
    if (std::chrono::steady_clock::now() - start > limit) {
      throw Error(Code::kTimeout, std::string(where) + ": NCCL did not take the operation within " +
                                      seconds_text(limit.count()));
    }
    backoff.pause();
  }
}

}  // namespace hirgen
