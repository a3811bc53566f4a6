#include "blaslt_product.hpp"

#include <algorithm>
#include <thread>

#include "error.hpp"

namespace hirgen_cpu {
namespace {

/// A workspace is written when the product starts and compared when it ends, so a second product
/// that uses it in between is found. The bytes differ from product to product.
class WorkspaceWatch {
 public:
  WorkspaceWatch(void* workspace, size_t bytes)
      : words_(static_cast<uint64_t*>(workspace)), count_(std::min(bytes, kUsedWorkspace) / 8) {}

  void fill(uint64_t mark) {
    mark_ = mark;
    for (size_t i = 0; i < count_; ++i) words_[i] = mark * 0x9E3779B97F4A7C15u + i;
  }
  void check() const {
    for (size_t i = 0; i < count_; ++i) {
      if (words_[i] == mark_ * 0x9E3779B97F4A7C15u + i) continue;
      throw Failure{cudaErrorLaunchFailure,
                    format("cublasLtMatmul: the workspace at %p was written by other work while "
                           "the product ran (two products at once need two workspaces)",
                           static_cast<void*>(words_))};
    }
  }

 private:
  uint64_t* words_;
  size_t count_;
  uint64_t mark_ = 0;
};

class ProductTask final : public Task {
 public:
  ProductTask(const Product& product, void* workspace, size_t bytes,
              std::chrono::milliseconds pause)
      : product_(product), watch_(workspace, bytes), pause_(pause) {}
  bool step() override {
    if (!started_) {
      watch_.fill(reinterpret_cast<uint64_t>(this));
      started_ = true;
      return false;
    }
    multiply(product_);
    if (pause_.count() > 0) std::this_thread::sleep_for(pause_);
    watch_.check();
    return true;
  }

 private:
  Product product_;
  WorkspaceWatch watch_;
  std::chrono::milliseconds pause_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Task> make_product_task(const Product& product, void* workspace, size_t bytes,
                                        std::chrono::milliseconds pause) {
  return std::make_unique<ProductTask>(product, workspace, bytes, pause);
}

}  // namespace hirgen_cpu
