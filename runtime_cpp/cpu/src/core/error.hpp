// Errors: the last error of each thread, the sticky fault, and texts that explain them.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace hirgen_cpu {

/// An error inside the device. api() and nccl_api() turn it into the status of a call, and the
/// worker thread of a stream turns it into the sticky fault.
struct Failure {
  cudaError_t code;
  std::string text;
};

/// Returns the text that printf would print.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

/// Sets and prints the fault of asynchronous work, unless there is one already. As on a GPU it is
/// sticky: later CUDA calls of the process return it, and queued work is dropped.
void set_fault(cudaError_t code, const std::string& text);

/// The sticky fault's code, or cudaSuccess.
cudaError_t fault();
/// The sticky fault's text; empty without a fault.
std::string fault_text();

/// Throws the sticky fault, if there is one.
void throw_fault();

/// Sets this thread's last error to `code`, with `text` as its explanation, and returns `code`.
cudaError_t record_error(cudaError_t code, const std::string& text);

/// Marks this thread as running a host function, in which no API call is permitted.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
};

/// The scope of one API call, whose name is part of error messages.
class ApiScope {
 public:
  explicit ApiScope(const char* name);
  ~ApiScope();
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;
  /// cudaErrorNotPermitted inside a host function, else the sticky fault or cudaSuccess.
  cudaError_t status() const;

 private:
  const char* outer_;
};

/// Runs the body of an API call unless ApiScope::status() is an error, and returns cudaSuccess. On
/// an error, records it and returns its code.
template <class Body>
cudaError_t api(const char* name, Body body) {
  ApiScope scope(name);
  try {
    if (cudaError_t status = scope.status(); status != cudaSuccess) {
      return record_error(status, fault_text());
    }
    body();
    return cudaSuccess;
  } catch (const Failure& failure) {
    return record_error(failure.code, failure.text);
  } catch (const std::bad_alloc&) {
    return record_error(cudaErrorMemoryAllocation, "out of host memory");
  }
}

/// Throws Failure(cudaErrorInvalidValue) unless `condition`.
inline void require(bool condition, const char* text) {
  if (!condition) throw Failure{cudaErrorInvalidValue, text};
}

}  // namespace hirgen_cpu
