// Stream memory operations: a stream writes a word of memory, or waits until a word that this or
// another process writes satisfies a condition. Also cuMemGetAddressRange and
// cudaGetDriverEntryPointByVersion.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "memory/memory.hpp"
#include "stream/memop_task.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

namespace {

CUresult enqueue(const char* name, CUstream stream, const std::vector<MemOp>& ops) {
  // CUresult and cudaError_t use the same error numbers.
  return static_cast<CUresult>(api(name, [&] {
    for (const MemOp& op : ops) check_op(op);
    submit(stream, [ops](Stream& target) {
      Scheduler::get().push(target, std::make_unique<MemOpTask>(ops));
    });
  }));
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): CUdeviceptr is an integer by definition.
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

MemOp parse(const CUstreamBatchMemOpParams& params) {
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
  std::vector<MemOp> ops;
  auto parsed = static_cast<CUresult>(api("cuStreamBatchMemOp", [&] {
    require(flags == 0 && count > 0 && count < 256 && paramArray != nullptr,
            "flags, or number of operations (1 to 255)");
    for (unsigned i = 0; i < count; ++i) ops.push_back(parse(paramArray[i]));
  }));
  return parsed != CUDA_SUCCESS ? parsed : enqueue("cuStreamBatchMemOp", stream, ops);
}

CUresult hirgen_cpu_launch_flags(CUstream stream, bool wait,
                                 const std::vector<hirgen_cpu_flag>& flags) {
  std::vector<MemOp> ops;
  for (const hirgen_cpu_flag& flag : flags) {
    ops.push_back({wait, 4, pointer(flag.address), flag.value, 0, flag.counter});
  }
  return enqueue("kernel launch", stream, ops);
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
