#include "core/error.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "core/annotate.hpp"

namespace hirgen_cpu {
namespace {

struct ThreadState {
  const char* call = "";
  bool in_host_function = false;
  cudaError_t last = cudaSuccess;
  cudaError_t explained = cudaSuccess;
  std::string explanation;
  std::string rendered;
};
thread_local ThreadState thread_state;

std::atomic<int> fault_code{cudaSuccess};

struct FaultText {
  std::mutex mutex;
  std::string text;
};
FaultText& fault_state() {
  static FaultText& state = *new FaultText;
  return state;
}

struct Name {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr Name kNames[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed",
     "mapping of buffer object failed"},
    {cudaErrorOperatingSystem, "cudaErrorOperatingSystem",
     "OS call failed or operation not supported"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Name* find(cudaError_t code) {
  for (const Name& entry : kNames) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string format(const char* pattern, ...) {
  va_list arguments, copy;
  va_start(arguments, pattern);
  va_copy(copy, arguments);
  std::string text(static_cast<size_t>(vsnprintf(nullptr, 0, pattern, copy)), '\0');
  va_end(copy);
  vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  va_end(arguments);
  return text;
}

void set_fault(cudaError_t code, const std::string& text) {
  QuietLock lock(fault_state().mutex);
  if (fault_code.load() != cudaSuccess) return;
  fault_state().text = text;
  fault_code.store(code);
  fprintf(stderr, "hirgen CPU device: %s: %s\n", cudaGetErrorName(code), text.c_str());
}

cudaError_t fault() { return static_cast<cudaError_t>(fault_code.load(std::memory_order_relaxed)); }

std::string fault_text() {
  QuietLock lock(fault_state().mutex);
  return fault_state().text;
}

void throw_fault() {
  if (fault() != cudaSuccess) throw Failure{fault(), fault_text()};
}

cudaError_t record_error(cudaError_t code, const std::string& text) {
  thread_state.last = code;
  thread_state.explained = code;
  thread_state.explanation = text.empty() ? text : std::string(thread_state.call) + ": " + text;
  return code;
}

HostFunctionScope::HostFunctionScope() { thread_state.in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { thread_state.in_host_function = false; }

ApiScope::ApiScope(const char* name) : outer_(thread_state.call) { thread_state.call = name; }
ApiScope::~ApiScope() { thread_state.call = outer_; }

cudaError_t ApiScope::status() const {
  if (thread_state.in_host_function) return cudaErrorNotPermitted;
  return fault();
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

const char* cudaGetErrorName(cudaError_t error) {
  const Name* entry = find(error);
  return entry != nullptr ? entry->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Name* entry = find(error);
  if (entry == nullptr) return "unrecognized error code";
  if (error == cudaSuccess || thread_state.explained != error || thread_state.explanation.empty()) {
    return entry->text;
  }
  thread_state.rendered = std::string(entry->text) + " (" + thread_state.explanation + ")";
  return thread_state.rendered.c_str();
}

cudaError_t cudaPeekAtLastError(void) {
  return fault() != cudaSuccess ? fault() : thread_state.last;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = cudaPeekAtLastError();
  thread_state.last = cudaSuccess;
  return error;
}
