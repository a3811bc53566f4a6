// Flags by which ranks order their use of what they share: a rank waits for flags in its own memory
// and writes flags in that of its peers. A flag holds a sequence number, which only grows (modulo
// 2^32), so a wait is for "at least this number".
//
// There are three ways to do it, for schedules to choose from: one stream memory operation for each
// flag, batched stream memory operations, or a kernel. A kernel can read the sequence number from
// device memory, which a CUDA graph needs, since it repeats what it was captured with.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hirgen/trace.hpp"

namespace hirgen {

/// Throws Error(kDevice) unless `status` is success; for HG_CHECK on the driver's calls.
void check(CUresult status, const char* call, const char* where, const char* file, int line);

/// The driver's stream memory operations under their own names. They are asked for by name,
/// so that a program links no libcuda and starts where there is none.
struct StreamMemory {
  Traced<TraceKind::kFlagWait, decltype(::cuStreamWaitValue32)> cuStreamWaitValue32{
      "cuStreamWaitValue32", nullptr};
  Traced<TraceKind::kFlagWrite, decltype(::cuStreamWriteValue32)> cuStreamWriteValue32{
      "cuStreamWriteValue32", nullptr};
  decltype(&::cuStreamBatchMemOp) cuStreamBatchMemOp = nullptr;
};

/// The sequence number of a call, as kernels take it: `value`, plus what `counter` in this device's
/// memory holds when the kernel gets there. No counter: null.
struct SequenceNumber {
  uint32_t value = 0;
  const uint32_t* counter = nullptr;
};

/// A flag and the sequence number that is waited for there, or written.
struct Flag {
  CUdeviceptr address = 0;
  SequenceNumber sequence;
};

/// What is done with the flags of a group, all of which are treated alike.
enum class FlagUse { kWait, kWrite };

/// What it is called in a trace.
constexpr TraceKind flag_kind(FlagUse use) {
  return use == FlagUse::kWait ? TraceKind::kFlagWait : TraceKind::kFlagWrite;
}

/// Batched stream memory operations: one call for many flags, or for as many as the driver takes.
class MemOpBatch {
 public:
  MemOpBatch(FlagUse use, const StreamMemory& driver) : use_(use), driver_(driver) {}
  /// One more flag. The host must know its sequence number.
  void add(CUdeviceptr address, SequenceNumber sequence);
  /// Waits for all of them, or writes them, on `stream`. `where` is the spec position, a
  /// string that outlives the program; so it is below.
  void submit(cudaStream_t stream, const char* where);

 private:
  FlagUse use_;
  const StreamMemory& driver_;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

/// Many flags in one kernel of one block, or as many as a kernel's parameters hold.
class FlagKernel {
 public:
  explicit FlagKernel(FlagUse use) : use_(use) {}
  void add(CUdeviceptr address, SequenceNumber sequence) { flags_.push_back({address, sequence}); }
  /// Waits for all of them, or writes them, on `stream`.
  void submit(cudaStream_t stream, const char* where);

 private:
  FlagUse use_;
  std::vector<Flag> flags_;
};

/// A kernel that waits until the flag has reached the sequence number.
void launch_flag_wait(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                      const char* where);
/// A kernel that writes the sequence number to the flag.
void launch_flag_write(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                       const char* where);
/// A kernel that adds one to a counter of calls.
void launch_count(uint32_t* counter, cudaStream_t stream, const char* where);

}  // namespace hirgen
