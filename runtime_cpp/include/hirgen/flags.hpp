// Flags order the use of memory that ranks share. A rank waits for flags in its own memory, and
// writes flags in the memory of its peers. A flag holds the sequence number of a call, which only
// grows (modulo 2^32). The wait of a call ends when the flag is at least the number of this call.
//
// A schedule chooses one of three ways to wait for flags and write them: one stream memory
// operation per flag, batched stream memory operations, or a kernel. A CUDA graph needs a kernel: a
// graph repeats the arguments that it was captured with, and only a kernel can read the current
// sequence number from device memory.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/trace.hpp"

namespace hirgen {

/// Lets HG_CHECK run driver calls. Throws the same errors as check() of a cudaError_t (error.hpp).
void check(CUresult status, const char* call, const char* where, const char* file, int line);

/// The driver's stream memory operations, under their own names. They are looked up at run time, so
/// that a program does not link libcuda and also starts on machines without it.
struct StreamMemory {
  Traced<TraceKind::kFlagWait, decltype(::cuStreamWaitValue32)> cuStreamWaitValue32{
      "cuStreamWaitValue32", nullptr};
  Traced<TraceKind::kFlagWrite, decltype(::cuStreamWriteValue32)> cuStreamWriteValue32{
      "cuStreamWriteValue32", nullptr};
  decltype(&::cuStreamBatchMemOp) cuStreamBatchMemOp = nullptr;
};

/// The sequence number of a call for kernels: `value` plus the content of `counter`, which is in
/// this device's memory, when the kernel runs. A null counter adds nothing.
struct SequenceNumber {
  uint32_t value = 0;
  const uint32_t* counter = nullptr;
};

/// A flag, and the sequence number to wait for or to write.
struct Flag {
  CUdeviceptr address = 0;
  SequenceNumber sequence;
};

/// The operation of a MemOpBatch or FlagKernel on all of its flags.
enum class FlagUse { kWait, kWrite };

/// Returns the kind of a wait or a write of flags in a trace.
constexpr TraceKind flag_kind(FlagUse use) {
  return use == FlagUse::kWait ? TraceKind::kFlagWait : TraceKind::kFlagWrite;
}

/// Batched stream memory operations: one driver call for each 255 flags, the most that the driver
/// accepts.
class MemOpBatch {
 public:
  MemOpBatch(FlagUse use, const StreamMemory& driver) : use_(use), driver_(driver) {}
  /// Adds a flag. Throws Error(kInternal) if the sequence number has a counter.
  void add(CUdeviceptr address, SequenceNumber sequence);
  /// Waits for all flags, or writes them, on `stream`. Here and below, `where` is the spec
  /// position, a string that outlives the program.
  void submit(cudaStream_t stream, const char* where);

 private:
  FlagUse use_;
  const StreamMemory& driver_;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

/// Waits for many flags, or writes them. Launches one kernel of one block for each 128 flags, with
/// one thread for each flag.
class FlagKernel {
 public:
  explicit FlagKernel(FlagUse use) : use_(use) {}
  void add(CUdeviceptr address, SequenceNumber sequence) { flags_.push_back({address, sequence}); }
  /// Waits for all flags, or writes them, on `stream`.
  void submit(cudaStream_t stream, const char* where);

 private:
  FlagUse use_;
  std::vector<Flag> flags_;
};

/// Launches a kernel that waits until the flag has reached the sequence number.
void launch_flag_wait(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                      const char* where);
/// Launches a kernel that writes the sequence number to the flag.
void launch_flag_write(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                       const char* where);
/// Adds 1 to each of these counters of calls. Launches one kernel for each 64 counters.
void launch_counts(const std::vector<uint32_t*>& counters, cudaStream_t stream, const char* where);

}  // namespace hirgen
