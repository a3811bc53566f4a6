#include "watchdog/rescue.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <thread>

#include "bootstrap/socket.hpp"

namespace hirgen {

namespace {

// A communicator in use by another thread should not be aborted. So the host gets this much time to
// leave at its next statement.
constexpr double kLeaveSeconds = 0.2;
constexpr std::chrono::milliseconds kPause(5);

}  // namespace

void Rescue::start() {
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

bool Rescue::finish(double seconds) {
  const Deadline deadline = after(seconds);
  while (!done_.load() && Clock::now() < deadline) std::this_thread::sleep_for(kPause);
  stop_.store(true);
  return done_.load();
}

void Rescue::use_device() const {
  (void)cudaSetDevice(device_);
  // The host program may be capturing a stream, which CUDA calls of this thread must not break.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

void Rescue::run() {
  use_device();
  const Deadline leaving = after(kLeaveSeconds);
  while (inside_->load() > 0 && Clock::now() < leaving) std::this_thread::sleep_for(kPause);
  // Abort all at the same time: a communicator whose kernel waits for another's kernel cannot end
  // alone.
  for (ncclComm_t comm : monitor_.take_comms()) abort(comm);
  while (!stop_.load()) {
    monitor_.release_flags();
    if (is_let_go()) {
      done_.store(true);
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Rescue::abort(ncclComm_t comm) {
  aborting_.fetch_add(1);
  std::thread([self = shared_from_this(), comm] {
    self->use_device();
    (void)ncclCommAbort(comm);
    self->aborting_.fetch_sub(1);
  }).detach();
}

bool Rescue::is_let_go() const {
  return inside_->load() == 0 && aborting_.load() == 0 && monitor_.idle();
}

}  // namespace hirgen
