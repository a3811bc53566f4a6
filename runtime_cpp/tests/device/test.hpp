// Common parts of the conformance suite. Each source file except test.cpp is a program of cases,
// which call CUDA, NCCL and cuBLASLt directly or through the runtime's kernels. The programs run on
// the CPU device and on GPUs, and both must pass.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace device_test {

/// Counts a failure of the running case. Prints the first ten, with their places.
void fail(const char* file, int line, const std::string& what);

#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) ::device_test::fail(__FILE__, __LINE__, "expected " #condition); \
  } while (false)

/// Expects that the call returns this status. The case goes on if it does not.
#define EXPECT_STATUS(status, call)                                                 \
  ::device_test::expect_status(__FILE__, __LINE__, #call, static_cast<int>(status), \
                               static_cast<int>(call))

/// Expects that the call returns status 0 (success).
#define OK(call) EXPECT_STATUS(0, call)

void expect_status(const char* file, int line, const char* call, int expected, int got);

/// One case of a test program.
struct Case {
  const char* name;
  std::function<void()> run;
};

/// main() of a test program. Runs all cases, or those named in argv, each in a separate process, so
/// that a sticky fault or a hang of one does not affect the next. Returns 1 if any fails, 77 if
/// none could run here, else 0.
int run_cases(int argc, char** argv, const std::vector<Case>& cases);

/// Ends the running case as not applicable to this device or machine.
[[noreturn]] void skip(const std::string& why);

/// Ends the running case without destructors, which fail after a sticky fault.
[[noreturn]] void end_case();

/// Returns whether HIRGEN_SHARE_GPU is 1. Then ranks take the devices in turn, so that one device
/// is enough, and cases that call need_own_gpus() are skipped.
bool gpus_are_shared();
/// Skips a case of NCCL if ranks share GPUs.
void need_own_gpus();

/// One rank of a case of several processes.
struct Rank {
  int rank, size;
  void* memory;  ///< kSharedBytes bytes that all ranks of the case see, initially zero
  /// Waits until all ranks have called this; fails the case after about 30 seconds.
  void barrier() const;
};
constexpr size_t kSharedBytes = 1 << 16;

/// Runs `body` in `size` new processes, each with a device of its own, or with shared devices
/// (gpus_are_shared()). Skips the case if there are too few devices. Must come before any CUDA call
/// of the case.
void run_ranks(int size, const std::function<void(const Rank&)>& body);

/// A blocking communicator of all ranks of the case.
ncclComm_t make_comm(const Rank& rank);

/// Device memory that holds `values`.
template <class T>
T* upload(const std::vector<T>& values) {
  T* data = nullptr;
  OK(cudaMalloc(&data, values.size() * sizeof(T)));
  OK(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  OK(cudaDeviceSynchronize());
  return data;
}

/// The contents of `count` elements of device memory after all work is complete.
template <class T>
std::vector<T> download(const T* data, size_t count) {
  std::vector<T> values(count);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

/// A stream that does not synchronise with the default stream.
cudaStream_t make_stream();
/// An event without timing.
cudaEvent_t make_event();

/// Keeps streams busy until open(), by a host function that waits for a flag.
class Gate {
 public:
  Gate();
  ~Gate();
  /// Work that comes later on the stream waits for open().
  void close(cudaStream_t stream);
  void open();

 private:
  struct State;
  State* state_;
};

}  // namespace device_test
