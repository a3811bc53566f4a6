// Tests of stream memory operations: conditions, widths, batches, and their place in stream order.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "test.hpp"

using namespace device_test;

namespace {

/// A driver function, as programs that do not link libcuda get it.
template <class Function>
Function* entry(const char* name) {
  void* pointer = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  OK(cudaGetDriverEntryPointByVersion(name, &pointer, 12000, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSuccess && pointer != nullptr);
  return reinterpret_cast<Function*>(pointer);
}

const auto wait32 = [](auto... a) {
  return entry<decltype(cuStreamWaitValue32)>("cuStreamWaitValue32")(a...);
};
const auto wait64 = [](auto... a) {
  return entry<decltype(cuStreamWaitValue64)>("cuStreamWaitValue64")(a...);
};
const auto write32 = [](auto... a) {
  return entry<decltype(cuStreamWriteValue32)>("cuStreamWriteValue32")(a...);
};
const auto write64 = [](auto... a) {
  return entry<decltype(cuStreamWriteValue64)>("cuStreamWriteValue64")(a...);
};
const auto batch = [](auto... a) {
  return entry<decltype(cuStreamBatchMemOp)>("cuStreamBatchMemOp")(a...);
};

template <class T>
CUdeviceptr address(T* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

bool is_blocked(cudaStream_t stream) {
  for (int i = 0; i < 20; ++i) {
    if (cudaStreamQuery(stream) != cudaErrorNotReady) return false;
  }
  static_cast<void>(cudaGetLastError());
  return true;
}

void wait_and_write() {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* word = upload(std::vector<uint32_t>{0});
  auto* data = upload(std::vector<int>{0, 0});
  OK(wait32(waiter, address(word), 3u, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_EQ)));
  OK(cudaMemcpyAsync(data + 1, data, sizeof(int), cudaMemcpyDeviceToDevice, waiter));
  EXPECT(is_blocked(waiter));
  OK(cudaMemsetAsync(data, 4, sizeof(int), writer));
  OK(write32(writer, address(word), 2u, 0u));
  OK(cudaStreamSynchronize(writer));
  EXPECT(is_blocked(waiter));
  OK(write32(writer, address(word), 3u, 0u));
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(data, 2)[1] == 0x04040404);
}

/// Expects that a wait blocks with each value of `no`, and ends with `yes`.
void check_condition(unsigned flags, uint32_t value, const std::vector<uint32_t>& no,
                     uint32_t yes) {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* word = upload(no);
  OK(wait32(waiter, address(word), value, flags));
  for (uint32_t blocked : no) {
    OK(write32(writer, address(word), blocked, 0u));
    OK(cudaStreamSynchronize(writer));
    EXPECT(is_blocked(waiter));
  }
  OK(write32(writer, address(word), yes, 0u));
  OK(cudaStreamSynchronize(waiter));
}

void conditions() {
  check_condition(CU_STREAM_WAIT_VALUE_GEQ, 5, {4, 0, 0xFFFFFFF0}, 6);
  // The comparison is cyclic: 1 counts as greater than 0xFFFFFFFE.
  check_condition(CU_STREAM_WAIT_VALUE_GEQ, 0xFFFFFFFE, {0xFFFFFFF0, 0x80000000}, 1);
  check_condition(CU_STREAM_WAIT_VALUE_EQ, 5, {4, 6}, 5);
  check_condition(CU_STREAM_WAIT_VALUE_AND, 0x12, {0x05, 0}, 0x13);
}

void wide_words() {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* word = upload(std::vector<uint64_t>{0});
  uint64_t big = (uint64_t{1} << 40) + 7;
  OK(wait64(waiter, address(word), big, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ)));
  OK(write64(writer, address(word), big - 1, 0u));
  OK(cudaStreamSynchronize(writer));
  EXPECT(is_blocked(waiter));
  // The new value differs from the awaited one only in the high half.
  OK(write64(writer, address(word), big + (uint64_t{1} << 41), 0u));
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(word, 1)[0] == big + (uint64_t{1} << 41));
}

/// A wait also ends if an ordinary copy writes the word.
void written_by_a_copy() {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 9});
  OK(wait32(waiter, address(words), 9u, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_EQ)));
  OK(cudaMemcpyAsync(words, words + 1, 4, cudaMemcpyDeviceToDevice, writer));
  OK(cudaStreamSynchronize(waiter));
}

CUstreamBatchMemOpParams wait_param(uint32_t* word, uint32_t value) {
  CUstreamBatchMemOpParams params{};
  params.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  params.waitValue.address = address(word);
  params.waitValue.value = value;
  params.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return params;
}

CUstreamBatchMemOpParams write_param(uint32_t* word, uint32_t value) {
  CUstreamBatchMemOpParams params{};
  params.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  params.writeValue.address = address(word);
  params.writeValue.value = value;
  return params;
}

void batches() {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0, 0, 0});
  CUstreamBatchMemOpParams waits[] = {wait_param(words, 1), wait_param(words + 1, 1),
                                      write_param(words + 2, 5)};
  OK(batch(waiter, 3u, waits, 0u));
  OK(write32(writer, address(words), 1u, 0u));
  OK(cudaStreamSynchronize(writer));
  EXPECT(is_blocked(waiter));
  CUstreamBatchMemOpParams writes[] = {write_param(words + 1, 1), write_param(words + 3, 6)};
  OK(batch(writer, 2u, writes, 0u));
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(words, 4)[2] == 5);
  EXPECT(download(words, 4)[3] == 6);
}

/// Two streams wait for each other 100 times.
void ping_pong() {
  cudaStream_t a = make_stream(), b = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0});
  for (uint32_t i = 1; i <= 100; ++i) {
    OK(write32(a, address(words), i, 0u));
    OK(wait32(a, address(words + 1), i, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ)));
    OK(wait32(b, address(words), i, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ)));
    OK(write32(b, address(words + 1), i, 0u));
  }
  OK(cudaStreamSynchronize(a));
  OK(cudaStreamSynchronize(b));
  EXPECT(download(words, 2) == (std::vector<uint32_t>{100, 100}));
}

void captured() {
  cudaStream_t stream = make_stream(), writer = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(wait32(stream, address(words), 1u, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_EQ)));
  OK(write32(stream, address(words), 0u, 0u));
  OK(write32(stream, address(words + 1), 1u, 0u));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    OK(cudaMemsetAsync(words + 1, 0, 4, stream));
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(is_blocked(stream));
    OK(write32(writer, address(words), 1u, 0u));
    OK(cudaStreamSynchronize(stream));
    EXPECT(download(words, 2) == (std::vector<uint32_t>{0, 1}));
  }
}

void address_ranges() {
  auto range = entry<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange");
  char* data = nullptr;
  OK(cudaMalloc(&data, 10 << 20));
  CUdeviceptr base = 0;
  size_t bytes = 0;
  OK(range(&base, &bytes, address(data + 12345)));
  EXPECT(base == address(data) && bytes == 10 << 20);
}

void unknown_entry_point() {
  void* pointer = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  static_cast<void>(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &pointer, 12000,
                                                     cudaEnableDefault, &result));
  EXPECT(pointer == nullptr && result == cudaDriverEntryPointSymbolNotFound);
  static_cast<void>(cudaGetLastError());
}

/// Invalid addresses, and more operations than one call takes, are refused.
void refused_operations() {
  cudaStream_t stream = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0});
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, write32(stream, address(words) + 2, 1u, 0u));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, wait32(stream, address(words) + 1, 0u,
                                                 static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, write32(stream, CUdeviceptr{0}, 1u, 0u));
  std::vector<CUstreamBatchMemOpParams> many(256, write_param(words, 1));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, batch(stream, 256u, many.data(), 0u));
  OK(cudaStreamSynchronize(stream));
  EXPECT(download(words, 2) == (std::vector<uint32_t>{0, 0}));
  OK(batch(stream, 255u, many.data(), 0u));
  OK(cudaStreamSynchronize(stream));
  EXPECT(download(words, 2) == (std::vector<uint32_t>{1, 0}));
}

/// A wait delays only later work on its stream.
void waits_hold_one_stream() {
  cudaStream_t waiter = make_stream(), other = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0, 0});
  OK(wait32(waiter, address(words), 1u, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ)));
  OK(cudaMemsetAsync(words + 1, 1, sizeof(uint32_t), waiter));
  OK(cudaMemsetAsync(words + 2, 2, sizeof(uint32_t), other));
  OK(cudaStreamSynchronize(other));
  EXPECT(is_blocked(waiter));
  OK(write32(other, address(words), 1u, 0u));
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(words, 3) == (std::vector<uint32_t>{1, 0x01010101, 0x02020202}));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"wait_and_write", wait_and_write},
                       {"conditions", conditions},
                       {"wide_words", wide_words},
                       {"written_by_a_copy", written_by_a_copy},
                       {"batches", batches},
                       {"ping_pong", ping_pong},
                       {"captured", captured},
                       {"address_ranges", address_ranges},
                       {"unknown_entry_point", unknown_entry_point},
                       {"refused_operations", refused_operations},
                       {"waits_hold_one_stream", waits_hold_one_stream},
                   });
}
