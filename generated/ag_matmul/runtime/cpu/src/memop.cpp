// Stream memory operations: a stream writes a word, or waits until a word of memory (its own, or
// one that another process writes) has a value.
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "annotate.hpp"
#include "error.hpp"
#include "futex.hpp"
#include "memory.hpp"
#include "stream.hpp"

using namespace hirgen_cpu;

namespace {

/// One operation on a word of 4 or 8 bytes.
struct WordOp {
  bool wait;
  size_t bytes;
  void* address;
  uint64_t value;
  unsigned flags;
};

template <class T>
bool satisfied(const void* address, T value, unsigned flags) {
  T word = static_cast<const std::atomic<T>*>(address)->load(std::memory_order_acquire);
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<T>>(word - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    default:
      return static_cast<T>(~(word | value)) != 0;
  }
}

/// Words may also be written by plain copies, so looking at one must not count as a race with them.
bool satisfied(const WordOp& op) {
  Unobserved unobserved;
  return op.bytes == 4 ? satisfied(op.address, static_cast<uint32_t>(op.value), op.flags)
                       : satisfied(op.address, op.value, op.flags);
}

/// The low half of a word, which sleepers watch. (A change of the high half alone wakes nobody;
/// sleepers look again after a while.)
std::atomic<uint32_t>* low_half(void* address) {
  return static_cast<std::atomic<uint32_t>*>(address);
}

void write(const WordOp& op) {
  ordered_before(op.address);
  if (op.bytes == 4) {
    low_half(op.address)->store(static_cast<uint32_t>(op.value), std::memory_order_release);
  } else {
    static_cast<std::atomic<uint64_t>*>(op.address)->store(op.value, std::memory_order_release);
  }
  futex_wake(low_half(op.address));
}

/// A batch, in order.
class WordTask final : public Task {
 public:
  explicit WordTask(std::vector<WordOp> ops) : ops_(std::move(ops)) {}
  bool ready() const override { return !ops_[next_].wait || satisfied(ops_[next_]); }
  WaitHint hint() const override {
    if (!ops_[next_].wait) return {};
    auto* word = low_half(ops_[next_].address);
    return {word, word->load(std::memory_order_acquire)};
  }
  bool step() override {
    for (; next_ < ops_.size(); ++next_) {
      if (!ops_[next_].wait) {
        write(ops_[next_]);
      } else if (satisfied(ops_[next_])) {
        ordered_after(ops_[next_].address);
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  std::vector<WordOp> ops_;
  size_t next_ = 0;
};

void check_op(const WordOp& op) {
  require(reinterpret_cast<uintptr_t>(op.address) % op.bytes == 0, "the address is not aligned");
  require_device_memory(op.address, op.bytes, "memory word");
  if (op.wait ? op.flags > CU_STREAM_WAIT_VALUE_NOR : op.flags != CU_STREAM_WRITE_VALUE_DEFAULT) {
    throw Failure{cudaErrorNotSupported, "unknown flags"};
  }
}

CUresult enqueue(const char* name, CUstream stream, const std::vector<WordOp>& ops) {
  // The error codes of the two APIs have the same numbers.
  return static_cast<CUresult>(api(name, [&] {
    for (const WordOp& op : ops) check_op(op);
    submit(stream, [ops](Stream& target) {
      Scheduler::get().push(target, std::make_unique<WordTask>(ops));
    });
  }));
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): CUdeviceptr is an integer by definition.
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

WordOp parse(const CUstreamBatchMemOpParams& params) {
  const auto& wait = params.waitValue;
  const auto& write = params.writeValue;
  switch (params.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return {true, 4, pointer(wait.address), wait.value, wait.flags};
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return {true, 8, pointer(wait.address), wait.value64, wait.flags};
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return {false, 4, pointer(write.address), write.value, write.flags};
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return {false, 8, pointer(write.address), write.value64, write.flags};
  }
  throw Failure{cudaErrorInvalidValue, "unknown operation in the batch"};
}

}  // namespace

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                             unsigned int flags) {
  return enqueue("cuStreamWaitValue32", stream, {{true, 4, pointer(addr), value, flags}});
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                             unsigned int flags) {
  return enqueue("cuStreamWaitValue64", stream, {{true, 8, pointer(addr), value, flags}});
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                              unsigned int flags) {
  return enqueue("cuStreamWriteValue32", stream, {{false, 4, pointer(addr), value, flags}});
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                              unsigned int flags) {
  return enqueue("cuStreamWriteValue64", stream, {{false, 8, pointer(addr), value, flags}});
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams* paramArray, unsigned int flags) {
  std::vector<WordOp> ops;
  auto parsed = static_cast<CUresult>(api("cuStreamBatchMemOp", [&] {
    require(flags == 0 && count > 0 && count <= 256 && paramArray != nullptr,
            "flags, or number of operations (1 to 256)");
    for (unsigned i = 0; i < count; ++i) ops.push_back(parse(paramArray[i]));
  }));
  return parsed != CUDA_SUCCESS ? parsed : enqueue("cuStreamBatchMemOp", stream, ops);
}

CUresult cuMemGetAddressRange(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  return static_cast<CUresult>(api("cuMemGetAddressRange", [&] {
    std::shared_ptr<const Allocation> allocation = find_allocation(pointer(dptr));
    if (!allocation) throw Failure{cudaErrorSymbolNotFound, "not memory of the device"};
    if (pbase != nullptr) *pbase = reinterpret_cast<CUdeviceptr>(allocation->block.data());
    if (psize != nullptr) *psize = allocation->block.bytes();
  }));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr,
                                             unsigned int cudaVersion, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* driverStatus) {
  struct Entry {
    const char* name;
    void* function;
  };
  static const Entry kEntries[] = {
      {"cuStreamWaitValue32", reinterpret_cast<void*>(&cuStreamWaitValue32)},
      {"cuStreamWaitValue64", reinterpret_cast<void*>(&cuStreamWaitValue64)},
      {"cuStreamWriteValue32", reinterpret_cast<void*>(&cuStreamWriteValue32)},
      {"cuStreamWriteValue64", reinterpret_cast<void*>(&cuStreamWriteValue64)},
      {"cuStreamBatchMemOp", reinterpret_cast<void*>(&cuStreamBatchMemOp)},
      {"cuMemGetAddressRange", reinterpret_cast<void*>(&cuMemGetAddressRange)},
  };
  return api("cudaGetDriverEntryPointByVersion", [&] {
    require(symbol != nullptr && funcPtr != nullptr, "null symbol or result");
    require(flags == cudaEnableDefault && cudaVersion >= 12000, "unknown flags or version");
    *funcPtr = nullptr;
    if (driverStatus != nullptr) *driverStatus = cudaDriverEntryPointSymbolNotFound;
    for (const Entry& entry : kEntries) {
      if (strcmp(entry.name, symbol) != 0) continue;
      *funcPtr = entry.function;
      if (driverStatus != nullptr) *driverStatus = cudaDriverEntryPointSuccess;
      return;
    }
    throw Failure{cudaErrorSymbolNotFound, symbol};
  });
}
