#include "attention/cudnn_library.hpp"

#ifdef HIRGEN_CUDNN

#include <cudnn.h>
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "base/text.hpp"
#include "hirgen/error.hpp"

// The frontend's headers declare this handle of dlopen(), and look up all functions of libcudnn in
// it.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace hirgen {
namespace {

/// Opens the library: the one that this process has already loaded (for example with PyTorch), else
/// the one found at build time, else the one that the loader finds. Returns false if there is none;
/// `*reason` is then the loader's last error, and otherwise empty.
bool open_library(std::string* reason) {
  constexpr const char* kSoname = "libcudnn.so.9";
  void*& library = cudnn_frontend::cudnn_dlhandle;
  if (library == nullptr) library = dlopen(kSoname, RTLD_NOW | RTLD_NOLOAD);
  for (const char* path : {HIRGEN_CUDNN, kSoname}) {
    if (library != nullptr || *path == '\0') continue;
    library = dlopen(path, RTLD_NOW);
    if (library == nullptr) *reason = dlerror();
  }
  if (library != nullptr) reason->clear();
  return library != nullptr;
}

template <typename Function>
Function* function(const char* name) {
  void* found = dlsym(cudnn_frontend::cudnn_dlhandle, name);
  if (found == nullptr) throw Error(Code::kEnvironment, format("libcudnn has no %s", name));
  return reinterpret_cast<Function*>(found);
}
#define HG_CUDNN(name) function<decltype(name)>(#name)

void check(cudnnStatus_t status, const char* call, const char* where) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error(Code::kDevice,
              format("%s: %s: %s", where, call, HG_CUDNN(cudnnGetErrorString)(status)));
}

}  // namespace

CudnnHandle::CudnnHandle() { check(HG_CUDNN(cudnnCreate)(&handle_), "cudnnCreate", "attention"); }

CudnnHandle::~CudnnHandle() { static_cast<void>(HG_CUDNN(cudnnDestroy)(handle_)); }

std::string CudnnHandle::name() {
  const auto version = static_cast<int>(HG_CUDNN(cudnnGetVersion)());
  return format("cuDNN %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

std::unique_lock<std::mutex> CudnnHandle::use(cudaStream_t stream, const char* where) {
  static auto* const set = HG_CUDNN(cudnnSetStream);
  std::unique_lock lock(mutex_);
  check(set(handle_, stream), "cudnnSetStream", where);
  return lock;
}

std::shared_ptr<CudnnHandle> CudnnHandle::shared(std::string* reason) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<CudnnHandle>> handles;
  const std::lock_guard lock(mutex);
  // If several CUDA versions are installed, the frontend could load another runtime than this
  // program's. The variable names the right one, unless the user has set it.
  const std::string cudart = format("libcudart.so.%d", CUDART_VERSION / 1000);
  setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", cudart.c_str(), 0);
  if (!open_library(reason)) return nullptr;
  int device = 0;
  HG_CHECK(cudaGetDevice(&device), "attention");
  std::shared_ptr<CudnnHandle> handle = handles[device].lock();
  if (handle == nullptr) handles[device] = handle = std::make_shared<CudnnHandle>();
  return handle;
}

}  // namespace hirgen

#endif
