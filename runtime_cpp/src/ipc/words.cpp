#include "hirgen/words.hpp"

#include <algorithm>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr size_t kMostOperations = 256;  // that cuStreamBatchMemOp takes

}  // namespace

void check(CUresult status, const char* call, const char* where, const char* file, int line) {
  // The two APIs number their errors alike.
  check(static_cast<cudaError_t>(status), call, where, file, line);
}

void WordBatch::add(CUdeviceptr address, CallNumber call) {
  if (call.counter != nullptr) {
    throw Error(Code::kInternal, "a batch of memory operations cannot read a counter of calls");
  }
  CUstreamBatchMemOpParams& operation = operations_.emplace_back();
  if (use_ == WordUse::kAwait) {
    operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operation.waitValue.address = address;
    operation.waitValue.value = call.value;
    operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  } else {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = address;
    operation.writeValue.value = call.value;
    operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
}

void WordBatch::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < operations_.size(); first += kMostOperations) {
    const size_t count = std::min(kMostOperations, operations_.size() - first);
    HG_CHECK(driver_.cuStreamBatchMemOp(stream, static_cast<unsigned>(count),
                                        operations_.data() + first, 0),
             where);
  }
}

void launch_await(CUdeviceptr address, CallNumber call, cudaStream_t stream, const char* where) {
  WordKernel kernel(WordUse::kAwait);
  kernel.add(address, call);
  kernel.submit(stream, where);
}

void launch_write(CUdeviceptr address, CallNumber call, cudaStream_t stream, const char* where) {
  WordKernel kernel(WordUse::kWrite);
  kernel.add(address, call);
  kernel.submit(stream, where);
}

}  // namespace hirgen
