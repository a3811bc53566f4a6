// Tests of memory: allocation, copies of every kind, fills, and refused calls.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "test.hpp"

using namespace device_test;

namespace {

std::vector<int> counting(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

void allocation() {
  void *first = nullptr, *second = nullptr;
  OK(cudaMalloc(&first, 1));
  OK(cudaMalloc(&second, 3 << 20));
  EXPECT(first != nullptr && second != nullptr && first != second);
  EXPECT(reinterpret_cast<uintptr_t>(first) % 256 == 0);
  OK(cudaFree(first));
  OK(cudaFree(second));
  OK(cudaFree(nullptr));
  void* none = &first;
  OK(cudaMalloc(&none, 0));
  EXPECT(none == nullptr);
  int on_stack = 0;
  EXPECT_STATUS(cudaErrorInvalidValue, cudaFree(&on_stack));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_STATUS(cudaSuccess, cudaGetLastError());
}

void copies() {
  constexpr size_t kCount = 10000;
  std::vector<int> values = counting(kCount), back(kCount);
  int *a = nullptr, *b = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&a, kCount * sizeof(int)));
  OK(cudaMalloc(&b, kCount * sizeof(int)));
  OK(cudaMallocHost(&pinned, kCount * sizeof(int)));
  cudaStream_t stream = make_stream();
  OK(cudaMemcpyAsync(a, values.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpyAsync(b, a, kCount * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  OK(cudaMemcpyAsync(pinned, b, kCount * sizeof(int), cudaMemcpyDefault, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(memcmp(pinned, values.data(), kCount * sizeof(int)) == 0);
  // Part of an allocation, at an offset.
  OK(cudaMemsetAsync(a + 100, 0, 50 * sizeof(int), stream));
  OK(cudaMemcpyAsync(back.data(), a, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(back[99] == 100 && back[100] == 0 && back[149] == 0 && back[150] == 151);
  OK(cudaMemcpyAsync(a, b, 0, cudaMemcpyDeviceToDevice, stream));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(a));
  OK(cudaFree(b));
}

/// A pageable source may be reused as soon as the call returns, and a pageable destination is
/// complete then.
void pageable_memory() {
  constexpr size_t kCount = 1 << 16;
  std::vector<int> values = counting(kCount), back(kCount);
  int* data = nullptr;
  OK(cudaMalloc(&data, kCount * sizeof(int)));
  cudaStream_t stream = make_stream();
  OK(cudaMemcpyAsync(data, values.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, stream));
  std::fill(values.begin(), values.end(), -1);
  OK(cudaMemcpyAsync(back.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  EXPECT(back == counting(kCount));
}

/// A copy within host memory is complete when the call returns.
void copies_within_the_host() {
  int *a = nullptr, *b = nullptr;
  OK(cudaMallocHost(&a, sizeof(int)));
  OK(cudaMallocHost(&b, sizeof(int)));
  *a = 5;
  OK(cudaMemcpyAsync(b, a, sizeof(int), cudaMemcpyHostToHost, make_stream()));
  EXPECT(*b == 5);
}

/// cudaMemset and cudaMemcpy take effect in the order of the calls, on the default stream.
void default_stream_calls() {
  int* data = nullptr;
  OK(cudaMalloc(&data, 1024 * sizeof(int)));
  OK(cudaMemset(data, 0x11, 1024 * sizeof(int)));
  OK(cudaMemcpy(data + 1, data, sizeof(int), cudaMemcpyDeviceToDevice));
  std::vector<int> back(1024);
  OK(cudaMemcpy(back.data(), data, 1024 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(back == std::vector<int>(1024, 0x11111111));
  OK(cudaFree(data));
}

/// cudaFree waits for work that uses the memory.
void free_waits() {
  cudaStream_t stream = make_stream();
  int *data = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&data, 1 << 20));
  OK(cudaMallocHost(&pinned, 1 << 20));
  for (int i = 0; i < 50; ++i) OK(cudaMemsetAsync(data, i, 1 << 20, stream));
  OK(cudaMemcpyAsync(pinned, data, 1 << 20, cudaMemcpyDeviceToHost, stream));
  OK(cudaFree(data));
  EXPECT(pinned[1000] == 49 * 0x01010101);
}

void refused_copies() {
  int host[4] = {};
  int* data = nullptr;
  OK(cudaMalloc(&data, 4 * sizeof(int)));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaMemcpy(data, nullptr, 4, cudaMemcpyHostToDevice));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaMemset(host, 0, sizeof host));
  EXPECT_STATUS(cudaErrorInvalidMemcpyDirection,
                cudaMemcpy(data, host, 4, static_cast<cudaMemcpyKind>(9)));
  static_cast<void>(cudaGetLastError());
}

/// The attributes of a pointer: the type, the device, and the address on the device or host.
void pointer_attributes() {
  char *data = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&data, 1000));
  OK(cudaMallocHost(&pinned, 1000));
  cudaPointerAttributes found{};
  OK(cudaPointerGetAttributes(&found, data + 999));
  EXPECT(found.type == cudaMemoryTypeDevice && found.devicePointer == data + 999);
  int device = -1;
  OK(cudaGetDevice(&device));
  EXPECT(found.device == device);
  OK(cudaPointerGetAttributes(&found, pinned + 1));
  EXPECT(found.type == cudaMemoryTypeHost && found.hostPointer == pinned + 1);
  std::vector<char> pageable(1000);
  OK(cudaPointerGetAttributes(&found, pageable.data()));
  EXPECT(found.type == cudaMemoryTypeUnregistered);
  OK(cudaPointerGetAttributes(&found, nullptr));
  EXPECT(found.type == cudaMemoryTypeUnregistered);
  // The query is not work on a stream, so it does not break a capture.
  cudaStream_t stream = make_stream();
  cudaGraph_t graph = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaPointerGetAttributes(&found, data));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphDestroy(graph));
  OK(cudaFree(data));
  OK(cudaPointerGetAttributes(&found, data));
  EXPECT(found.type == cudaMemoryTypeUnregistered);
  OK(cudaFreeHost(pinned));
}

/// A fill takes the low byte of its value, and any number of bytes.
void fills() {
  std::vector<unsigned char> want(100, 7);
  unsigned char* data = upload(want);
  cudaStream_t stream = make_stream();
  OK(cudaMemsetAsync(data + 3, 0x1AB, 17, stream));
  std::fill(want.begin() + 3, want.begin() + 20, 0xAB);
  OK(cudaMemsetAsync(data + 50, 1, 0, stream));
  EXPECT(download(data, 100) == want);
  OK(cudaFree(data));
}

/// A pointer is refused unless it is null or the base of a live allocation of the call's kind.
void refused_frees() {
  char *data = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&data, 4 << 20));
  OK(cudaHostAlloc(&pinned, 1000, cudaHostAllocPortable));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaFree(data + 4096));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaFreeHost(data));
  OK(cudaFree(data));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaFree(data));
  OK(cudaFreeHost(pinned));
  OK(cudaFreeHost(nullptr));
  static_cast<void>(cudaGetLastError());
}

/// An allocation beyond the free memory is an error that the device survives.
void too_much() {
  size_t free_bytes = 0, total = 0;
  OK(cudaMemGetInfo(&free_bytes, &total));
  void* data = &total;
  EXPECT_STATUS(cudaErrorMemoryAllocation, cudaMalloc(&data, size_t{1} << 60));
  EXPECT_STATUS(cudaErrorMemoryAllocation, cudaGetLastError());
  OK(cudaMalloc(&data, 1 << 20));
  OK(cudaMemset(data, 0, 1 << 20));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(data));
}

/// A stream copies in order: each copy reads what the previous one wrote.
void copies_in_a_row() {
  constexpr size_t kCount = 4096;
  cudaStream_t stream = make_stream();
  std::vector<int> values = counting(kCount), back(kCount);
  int* data = upload(values);
  int* other = upload(std::vector<int>(kCount));
  for (int i = 0; i < 100; ++i) {  // rotates by one
    OK(cudaMemcpyAsync(other, data + 1, (kCount - 1) * sizeof(int), cudaMemcpyDeviceToDevice,
                       stream));
    OK(cudaMemcpyAsync(other + kCount - 1, data, sizeof(int), cudaMemcpyDefault, stream));
    OK(cudaMemcpyAsync(data, other, kCount * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  }
  OK(cudaMemcpyAsync(back.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  std::rotate(values.begin(), values.begin() + 100, values.end());
  EXPECT(back == values);
  OK(cudaFree(data));
  OK(cudaFree(other));
}

#ifdef HIRGEN_CPU_DEVICE
/// Copies and fills beyond an allocation, copies of the wrong kind, and a second free. A GPU may
/// perform some of them silently; the CPU device refuses all of them.
void out_of_bounds() {
  std::vector<int> host(64);
  int* data = nullptr;
  OK(cudaMalloc(&data, 16 * sizeof(int)));
  size_t bytes = 17 * sizeof(int);
  EXPECT_STATUS(cudaErrorInvalidValue,
                cudaMemcpy(data, host.data(), bytes, cudaMemcpyHostToDevice));
  std::string text = cudaGetErrorString(cudaErrorInvalidValue);
  EXPECT(text.find("cudaMemcpy: destination: 68 bytes at offset 0 run over the end") !=
         std::string::npos);
  EXPECT_STATUS(cudaErrorInvalidValue, cudaMemsetAsync(data + 15, 0, 8, nullptr));
  EXPECT_STATUS(cudaErrorInvalidValue,
                cudaMemcpy(host.data(), host.data() + 32, 4, cudaMemcpyDeviceToDevice));
  OK(cudaFree(data));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaFree(data));
}

void fresh_memory_is_poisoned() {
  for (size_t bytes : {size_t{5}, size_t{1} << 20, (size_t{64} << 20) + 3}) {
    unsigned char* data = nullptr;
    OK(cudaMalloc(&data, bytes));
    std::vector<unsigned char> back = download(data, bytes);
    EXPECT(back.front() == 0xFF && back.back() == 0xFF);
    OK(cudaFree(data));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"allocation", allocation},
                       {"copies", copies},
                       {"pageable_memory", pageable_memory},
                       {"copies_within_the_host", copies_within_the_host},
                       {"default_stream_calls", default_stream_calls},
                       {"free_waits", free_waits},
                       {"refused_copies", refused_copies},
                       {"pointer_attributes", pointer_attributes},
                       {"fills", fills},
                       {"refused_frees", refused_frees},
                       {"too_much", too_much},
                       {"copies_in_a_row", copies_in_a_row},
#ifdef HIRGEN_CPU_DEVICE
                       {"out_of_bounds", out_of_bounds},
                       {"fresh_memory_is_poisoned", fresh_memory_is_poisoned},
#endif
                   });
}
