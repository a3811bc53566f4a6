#include "hirgen/flags.hpp"

#include <algorithm>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr size_t kMostOperations = 255;  // the most that cuStreamBatchMemOp takes

}  // namespace

void check(CUresult status, const char* call, const char* where, const char* file, int line) {
  // The driver API and the runtime API use the same error numbers.
  check(static_cast<cudaError_t>(status), call, where, file, line);
}

void MemOpBatch::add(CUdeviceptr address, SequenceNumber sequence) {
  if (sequence.counter != nullptr) {
    throw Error(Code::kInternal,
                "a batch of memory operations cannot read a sequence number in device memory");
  }
  CUstreamBatchMemOpParams& operation = operations_.emplace_back();
  if (use_ == FlagUse::kWait) {
    operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operation.waitValue.address = address;
    operation.waitValue.value = sequence.value;
    operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  } else {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = address;
    operation.writeValue.value = sequence.value;
    operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
}

void MemOpBatch::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < operations_.size(); first += kMostOperations) {
    const size_t count = std::min(kMostOperations, operations_.size() - first);
    const TracedCall traced(flag_kind(use_), "cuStreamBatchMemOp", stream, where);
    HG_CHECK(driver_.cuStreamBatchMemOp(stream, static_cast<unsigned>(count),
                                        operations_.data() + first, 0),
             where);
  }
}

void launch_flag_wait(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                      const char* where) {
  FlagKernel kernel(FlagUse::kWait);
  kernel.add(address, sequence);
  kernel.submit(stream, where);
}

void launch_flag_write(CUdeviceptr address, SequenceNumber sequence, cudaStream_t stream,
                       const char* where) {
  FlagKernel kernel(FlagUse::kWrite);
  kernel.add(address, sequence);
  kernel.submit(stream, where);
}

}  // namespace hirgen
