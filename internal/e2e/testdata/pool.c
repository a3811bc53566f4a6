/* Calls an emitted library on memory that CUDA IPC cannot share: of a pool (cudaMallocAsync). The results have to be
 * equal, bit by bit, to those of the same calls on memory of cudaMalloc, for different sets of buffers. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

enum { kTensors = HIRGEN_EXCHANGE_TENSORS, kSets = 2, kCalls = 4 };

static hirgen_handle* handle;
static hirgen_tensor tensors[kTensors];

static void require(int code, const char* what) {
  if (code == HIRGEN_OK) return;
  fprintf(stderr, "%s: code %d: %s\n", what, code, hirgen_exchange_last_error(handle));
  exit(code);
}

static void ok(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(status));
  exit(HIRGEN_DEVICE);
}

static void* allocate(size_t bytes, int from_pool) {
  void* memory = NULL;
  ok(from_pool ? cudaMallocAsync(&memory, bytes, NULL) : cudaMalloc(&memory, bytes));
  ok(cudaDeviceSynchronize());
  return memory;
}

/* Returns bf16 bits of small integers, in a different pattern for each rank, tensor and call. */
static uint16_t element(int rank, size_t tensor, int call, int64_t i) {
  static const uint16_t kBits[] = {0xBF80, 0x0000, 0x3F80, 0x4000, 0xC000};
  return kBits[(rank * 7 + (int64_t)tensor * 3 + call * 11 + i * i) % 5];
}

/* Runs a call on one of two sets of buffers, and copies the outputs to host memory. */
static void run(int rank, int call, void* const* buffers, cudaStream_t stream, void** results) {
  for (size_t t = 0; t < kTensors; ++t) {
    if (tensors[t].output) continue;
    uint16_t* values = malloc(tensors[t].local_bytes);
    for (int64_t i = 0; i < (int64_t)tensors[t].local_bytes / 2; ++i) values[i] = element(rank, t, call, i);
    ok(cudaMemcpy(buffers[t], values, tensors[t].local_bytes, cudaMemcpyHostToDevice));
    free(values);
  }
  require(hirgen_exchange_run(handle, stream, buffers), "run");
  ok(cudaStreamSynchronize(stream));
  for (size_t t = 0; t < kTensors; ++t) {
    if (!tensors[t].output) continue;
    ok(cudaMemcpy(results[t], buffers[t], tensors[t].local_bytes, cudaMemcpyDeviceToHost));
  }
}

int main(void) {
  require(hirgen_exchange_create(NULL, &handle), "create");
  const int rank = atoi(getenv("HIRGEN_RANK"));
  cudaStream_t stream = NULL;
  ok(cudaStreamCreate(&stream));
  void *given[kSets][kTensors], *pool[kSets][kTensors], *want[kTensors], *got[kTensors];
  for (size_t t = 0; t < kTensors; ++t) {
    require(hirgen_exchange_tensor(handle, t, &tensors[t]), "tensor");
    want[t] = calloc(1, tensors[t].local_bytes);
    got[t] = calloc(1, tensors[t].local_bytes);
    for (int set = 0; set < kSets; ++set) {
      given[set][t] = allocate(tensors[t].local_bytes, 0);
      pool[set][t] = allocate(tensors[t].local_bytes, rank != 2); /* rank 2 uses memory of cudaMalloc, unlike the other ranks */
    }
  }
  long long wrong = 0, compared = 0;
  for (int call = 0; call < kCalls; ++call) {
    run(rank, call, given[call % kSets], stream, want);
    run(rank, call, pool[call % kSets], stream, got);
    for (size_t t = 0; t < kTensors; ++t) {
      if (!tensors[t].output) continue;
      wrong += memcmp(want[t], got[t], tensors[t].local_bytes) != 0;
      for (size_t i = 0; i < tensors[t].local_bytes; ++i) compared += ((const char*)got[t])[i] != 0;
    }
  }
  require(hirgen_exchange_destroy(handle), "destroy");
  printf("%lld results differ, %s\n", wrong, compared > 0 ? "of values other than 0" : "all 0");
  return wrong == 0 && compared > 0 ? HIRGEN_OK : HIRGEN_WRONG;
}
