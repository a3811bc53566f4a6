// libcudnn, which a program finds when it runs, or does without.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

struct cudnnContext;

namespace hirgen {

/// libcudnn's handle for the current device. One host thread at a time uses it.
class CudnnHandle {
 public:
  CudnnHandle();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnContext* get() const { return handle_; }
  /// "cuDNN 9.19.0".
  static std::string name();
  /// Where the calls to come run.
  void set_stream(cudaStream_t stream, const char* where);

  /// One for all that use it at the same time on the current device; null, with a reason, where the
  /// library is not there.
  static std::shared_ptr<CudnnHandle> shared(std::string* reason);

 private:
  cudnnContext* handle_ = nullptr;
};

}  // namespace hirgen
