#include "blaslt/gemm_task.hpp"

#include <time.h>

#include <algorithm>

#include "core/error.hpp"

namespace hirgen_cpu {
namespace {

/// Writes up to kUsedWorkspace bytes of the workspace when the GEMM starts, and compares them when
/// the GEMM ends. Each GEMM writes different bytes, so this detects a second GEMM that uses the
/// workspace in between.
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
                           "the GEMM ran (two GEMMs at once need two workspaces)",
                           static_cast<void*>(words_))};
    }
  }

 private:
  uint64_t* words_;
  size_t count_;
  uint64_t mark_ = 0;
};

/// The processor time of this thread.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Uses `time` of processor time. A sleep of fixed length could vanish among the delays of a busy
/// machine. Processor time takes longer on such a machine, as GEMMs do.
void compute_for(std::chrono::nanoseconds time) {
  if (time.count() == 0) return;
  for (const auto end = processor_time() + time; processor_time() < end;) {
  }
}

class GemmTask final : public Task {
 public:
  GemmTask(const Gemm& gemm, void* workspace, size_t bytes, std::chrono::milliseconds extra)
      : gemm_(gemm), watch_(workspace, bytes), extra_(extra) {}
  bool step() override {
    if (!started_) {
      watch_.fill(reinterpret_cast<uint64_t>(this));
      started_ = true;
      return false;
    }
    multiply(gemm_);
    compute_for(extra_);
    watch_.check();
    return true;
  }

 private:
  Gemm gemm_;
  WorkspaceWatch watch_;
  std::chrono::milliseconds extra_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Task> make_gemm_task(const Gemm& gemm, void* workspace, size_t bytes,
                                     std::chrono::milliseconds extra) {
  return std::make_unique<GemmTask>(gemm, workspace, bytes, extra);
}

}  // namespace hirgen_cpu
