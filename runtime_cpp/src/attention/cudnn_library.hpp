// Loads libcudnn at run time; programs work without it.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <string>

struct cudnnContext;

namespace hirgen {

/// A handle of libcudnn for the device that was current when it was made.
class CudnnHandle {
 public:
  CudnnHandle();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnContext* get() const { return handle_; }
  /// The library's name and version for reports: "cuDNN 9.19.0".
  static std::string name();
  /// Sets the stream of later calls with this handle. Until the caller releases the returned lock,
  /// no other thread sets a stream.
  [[nodiscard]] std::unique_lock<std::mutex> use(cudaStream_t stream, const char* where);

  /// The handle of the current device, shared by all its users; null, with a reason, if libcudnn
  /// cannot be loaded.
  static std::shared_ptr<CudnnHandle> shared(std::string* reason);

 private:
  cudnnContext* handle_ = nullptr;
  std::mutex mutex_;
};

}  // namespace hirgen
