// Words of memory by which ranks order their use of what they share: a rank waits for words of
// its own memory and writes words of its peers'. A word holds the number of a call, which only
// ever grows (modulo 2^32), so that waiting means "that call or a later one".
//
// There are three ways to do it, for schedules to choose from: one stream memory operation for
// each word, many in one batch, or a kernel. A kernel can take the number of the call from
// device memory, which a CUDA graph needs, since it repeats what it was captured with.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hirgen {

/// Throws Error(kDevice) unless `status` is success; for HG_CHECK on the driver's calls.
void check(CUresult status, const char* call, const char* where, const char* file, int line);

/// The driver's stream memory operations under their own names. They are asked for by name,
/// so that a program links no libcuda and starts where there is none.
struct StreamMemory {
  decltype(&::cuStreamWaitValue32) cuStreamWaitValue32 = nullptr;
  decltype(&::cuStreamWriteValue32) cuStreamWriteValue32 = nullptr;
  decltype(&::cuStreamBatchMemOp) cuStreamBatchMemOp = nullptr;
};

/// The number of a call, as kernels take it: `value`, and on top of that what `counter` of
/// this device's memory holds when the kernel gets there. No counter: null.
struct CallNumber {
  uint32_t value = 0;
  const uint32_t* counter = nullptr;
};

/// A word and the number that is waited for there, or written.
struct Word {
  CUdeviceptr address = 0;
  CallNumber call;
};

/// What is done with the words of a group, all of which are treated alike.
enum class WordUse { kAwait, kWrite };

/// Many words in one stream memory operation, or as many as the driver takes at once.
class WordBatch {
 public:
  WordBatch(WordUse use, const StreamMemory& driver) : use_(use), driver_(driver) {}
  /// One more word. Its number must be known to the host.
  void add(CUdeviceptr address, CallNumber call);
  /// Waits for all of them, or writes them, on `stream`. `where` is the spec position, a
  /// string that outlives the program; so it is below.
  void submit(cudaStream_t stream, const char* where);

 private:
  WordUse use_;
  const StreamMemory& driver_;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

/// Many words in one kernel of one block, or as many as a kernel's parameters hold.
class WordKernel {
 public:
  explicit WordKernel(WordUse use) : use_(use) {}
  void add(CUdeviceptr address, CallNumber call) { words_.push_back({address, call}); }
  /// Waits for all of them, or writes them, on `stream`.
  void submit(cudaStream_t stream, const char* where);

 private:
  WordUse use_;
  std::vector<Word> words_;
};

/// A kernel that waits until the word has reached the number of the call.
void launch_await(CUdeviceptr address, CallNumber call, cudaStream_t stream, const char* where);
/// A kernel that writes the number of the call to the word.
void launch_write(CUdeviceptr address, CallNumber call, cudaStream_t stream, const char* where);
/// A kernel that adds one to a counter of calls.
void launch_count(uint32_t* counter, cudaStream_t stream, const char* where);

}  // namespace hirgen
