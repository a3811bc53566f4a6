#include "hirgen/error.hpp"

#include <exception>

#include "base/given_up.hpp"
#include "base/open_files.hpp"
#include "base/text.hpp"
#include "watchdog/fault.hpp"

namespace hirgen {

std::atomic<const char*> host_position{"start"};
std::atomic<uint64_t> host_statements{0};
thread_local const std::atomic<bool>* given_up = nullptr;

namespace {

[[noreturn]] void fail(Code code, const std::string& what, const char* call, const char* where,
                       const char* file, int line) {
  if (const std::string files = too_many_files(); !files.empty()) {
    throw Error(Code::kEnvironment, std::string(where) + ": " + what + ": " + files);
  }
  throw Error(code, format("%s: %s\n  in %s (%s:%d)", where, what.c_str(), call, file, line));
}

std::string describe(ncclResult_t status) {
  std::string text = std::string("NCCL: ") + ncclGetErrorString(status);
  const char* detail = ncclGetLastError(nullptr);
  if (detail != nullptr && *detail != '\0') text += std::string(" (") + detail + ")";
  return text;
}

// Throws unless another exception is in flight: the caller may then be a destructor, and an
// exception from it would end the process.
void leave() {
  if (std::uncaught_exceptions() == 0) throw Error(Code::kPeer, "the ranks have been given up");
}

// NCCL returns ncclRemoteError after a network error, or if a remote process ended early.
Code code_of(ncclResult_t status) {
  return status == ncclRemoteError ? Code::kPeer : Code::kDevice;
}

}  // namespace

void begin_statement(const char* where) {
  host_position.store(where, std::memory_order_relaxed);
#ifdef HIRGEN_CPU_DEVICE
  hirgen_cpu_label(where);
#endif
  // No atomic read-modify-write: usually one thread issues statements. Threads that issue for
  // several handles at the same time may lose a count.
  host_statements.store(host_statements.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  fault::statement();
  if (given_up != nullptr && given_up->load(std::memory_order_relaxed)) leave();
}

void check(cudaError_t status, const char* call, const char* where, const char* file, int line) {
  if (status == cudaSuccess) [[likely]]
    return;
  fail(Code::kDevice,
       std::string("CUDA: ") + cudaGetErrorName(status) + ": " + cudaGetErrorString(status), call,
       where, file, line);
}

void check(ncclResult_t status, const char* call, const char* where, const char* file, int line) {
  if (status == ncclSuccess) [[likely]]
    return;
  fail(code_of(status), describe(status), call, where, file, line);
}

void check(cublasStatus_t status, const char* call, const char* where, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  fail(Code::kDevice, std::string("cuBLAS: ") + cublasLtGetStatusString(status), call, where, file,
       line);
}

}  // namespace hirgen
