// Times bf16 GEMMs with unaligned rows as they are, with n and k rounded up to aligned rows, and
// with matrices copied to aligned rows. It also times such copies. Build the runtime for CUDA, then
// this file:
//
//   cmake -S runtime_cpp -B build/cuda -G Ninja -DHIRGEN_DEVICE=cuda
//     -DCMAKE_CUDA_ARCHITECTURES=90a
//   nvcc -std=c++20 -O2 -arch=sm_90a -I runtime_cpp/include -o packed_gemms FILE
//     build/cuda/libruntime.a -lcublasLt -lnccl -lcuda
//
// Times are in microseconds a call, the median of nine launches of a CUDA graph of ten calls.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "hirgen/error.hpp"
#include "hirgen/matmul.hpp"
#include "hirgen/row_copies.hpp"

namespace {

using hirgen::MatmulPlan;
using hirgen::MatmulShape;

constexpr const char* kWhere = "packed_gemms";
constexpr size_t kBytes = size_t{1} << 30;

cublasLtHandle_t cublas;
cudaStream_t stream;
void *a, *b, *c, *workspace;

/// Device memory with random bf16 numbers of magnitude 1 to 2 and either sign.
void* numbers() {
  void* memory = nullptr;
  HG_CHECK(cudaMalloc(&memory, kBytes), kWhere);
  std::vector<uint16_t> values(kBytes / sizeof(uint16_t));
  uint32_t state = 1;
  for (uint16_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<uint16_t>(0x3f80 + ((state >> 16) & 0x807f));
  }
  HG_CHECK(cudaMemcpy(memory, values.data(), kBytes, cudaMemcpyHostToDevice), kWhere);
  return memory;
}

float microseconds(const std::function<void()>& call) {
  constexpr int kCalls = 10, kLaunches = 9;
  call();
  HG_CHECK(cudaStreamSynchronize(stream), kWhere);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t calls = nullptr;
  HG_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), kWhere);
  for (int i = 0; i < kCalls; ++i) call();
  HG_CHECK(cudaStreamEndCapture(stream, &graph), kWhere);
  HG_CHECK(cudaGraphInstantiate(&calls, graph, 0), kWhere);
  HG_CHECK(cudaGraphLaunch(calls, stream), kWhere);
  cudaEvent_t before = nullptr, after = nullptr;
  HG_CHECK(cudaEventCreate(&before), kWhere);
  HG_CHECK(cudaEventCreate(&after), kWhere);
  std::vector<float> times;
  for (int i = 0; i < kLaunches; ++i) {
    HG_CHECK(cudaEventRecord(before, stream), kWhere);
    HG_CHECK(cudaGraphLaunch(calls, stream), kWhere);
    HG_CHECK(cudaEventRecord(after, stream), kWhere);
    HG_CHECK(cudaEventSynchronize(after), kWhere);
    HG_CHECK(cudaEventElapsedTime(&times.emplace_back(), before, after), kWhere);
  }
  std::sort(times.begin(), times.end());
  HG_CHECK(cudaGraphExecDestroy(calls), kWhere);
  HG_CHECK(cudaGraphDestroy(graph), kWhere);
  return times[kLaunches / 2] * 1000 / kCalls;
}

float gemm(const MatmulShape& shape) {
  MatmulPlan plan(cublas, shape, kWhere);
  return microseconds([&] {
    if (shape.packs()) {
      return packed_gemm(cublas, plan, a, b, nullptr, c, workspace, stream, kWhere);
    }
    HG_CHECK(cublasLtMatmul(cublas, plan.op, &hirgen::kOne, b, plan.b, a, plan.a, &hirgen::kZero, c,
                            plan.c, c, plan.c, &plan.algo, workspace, plan.workspace_bytes, stream),
             kWhere);
  });
}

void row(MatmulShape shape) {
  MatmulShape padded = shape;
  padded.n = hirgen::packed_row(shape.n);
  padded.k = hirgen::packed_row(shape.k);
  const auto packed = [&](bool pack_a, bool pack_b, bool pack_c) {
    MatmulShape other = shape;
    other.pack_a = pack_a;
    other.pack_b = pack_b;
    other.pack_c = pack_c;
    return gemm(other);
  };
  std::printf("%6ld %6ld %6ld %s %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n", static_cast<long>(shape.m),
              static_cast<long>(shape.n), static_cast<long>(shape.k),
              shape.transpose_b ? "[n, k]" : "[k, n]", gemm(shape), gemm(padded),
              packed(true, false, false), packed(true, true, false), packed(false, true, true),
              packed(true, true, true));
  std::fflush(stdout);
}

void copies(int64_t rows, int64_t columns) {
  const int64_t row = hirgen::packed_row(columns);
  const auto time = [&](int64_t to, int64_t from) {
    const hirgen::RowCopy copy{c, a, to, from, 0, 0, rows, columns, 1, sizeof(uint16_t)};
    return microseconds([&] { launch_row_copies(&copy, 1, stream, kWhere); });
  };
  const auto bytes = static_cast<float>(4 * rows * columns);
  const float in = time(row, columns), out = time(columns, row);
  std::printf("copies of %ld x %ld: to aligned rows %.1f us, %.0f GB/s, back %.1f us, %.0f GB/s\n",
              static_cast<long>(rows), static_cast<long>(columns), in, bytes / in / 1e3, out,
              bytes / out / 1e3);
}

}  // namespace

int main() {
  HG_CHECK(cublasLtCreate(&cublas), kWhere);
  HG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), kWhere);
  a = numbers();
  b = numbers();
  HG_CHECK(cudaMalloc(&c, kBytes), kWhere);
  HG_CHECK(cudaMalloc(&workspace, 2 * kBytes), kWhere);
  for (int i = 0; i < 20; ++i) gemm({.m = 4096, .n = 4096, .k = 4096});
  std::printf("%6s %6s %6s %6s %8s %8s %8s %8s %8s %8s\n", "m", "n", "k", "B", "as is", "padded",
              "A", "A B", "B C", "A B C");
  const int64_t sizes[][3] = {
      {2000, 5120, 3500}, {2000, 3500, 5120}, {4096, 4096, 4100},  {4096, 4100, 4096},
      {4096, 4096, 4097}, {4096, 4097, 4096}, {8192, 8192, 8196},  {1024, 1024, 1028},
      {1024, 1028, 1024}, {512, 512, 516},    {512, 516, 512},     {256, 4096, 4100},
      {256, 4100, 4096},  {64, 4096, 4100},   {64, 4100, 4096},    {64, 4097, 4096},
      {16, 4096, 4100},   {16, 4096, 4097},   {4096, 50257, 1024}, {4096, 1001, 2048},
      {300, 300, 300},    {2000, 2000, 100},  {4096, 4096, 36}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool transposed : {false, true}) {
      row({.m = m, .n = n, .k = k, .transpose_b = transposed});
    }
  }
  copies(2000, 3500);
  copies(5120, 3500);
  copies(4096, 4097);
  copies(4096, 50257);
}
