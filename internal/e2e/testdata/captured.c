/* A host program that captures calls into a CUDA graph of its own, with other work of its own, and launches the graph between
 * calls that it issues. "cold" as argument captures before the first call, "warm" after it. With a second argument, rank
 * 0 destroys its graphs after the handle. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

static hirgen_handle* handle;
static void *given, *first[HIRGEN_EXCHANGE_TENSORS], *second[HIRGEN_EXCHANGE_TENSORS];
static size_t bytes[HIRGEN_EXCHANGE_TENSORS];
static cudaStream_t stream;

static void require(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "%s: %s\n", what, hirgen_exchange_last_error(handle));
  exit(HIRGEN_WRONG);
}

static void fill(void* to, size_t size, uint16_t element) {
  uint16_t* host = malloc(size);
  for (size_t i = 0; i < size / sizeof element; ++i) host[i] = element;
  require(cudaMemcpy(to, host, size, cudaMemcpyHostToDevice) == 0, "copy to the device");
  free(host);
}

static void expect(const void* result, uint16_t element) {
  uint16_t* host = malloc(bytes[HIRGEN_EXCHANGE_C]);
  require(cudaStreamSynchronize(stream) == 0, "wait");
  require(cudaMemcpy(host, result, bytes[HIRGEN_EXCHANGE_C], cudaMemcpyDeviceToHost) == 0, "copy to the host");
  for (size_t i = 0; i < bytes[HIRGEN_EXCHANGE_C] / sizeof element; ++i) {
    if (host[i] == element) continue;
    fprintf(stderr, "element %zu is %x, not %x\n", i, host[i], element);
    exit(HIRGEN_WRONG);
  }
  free(host);
}

static void call(void* const* tensors) { require(hirgen_exchange_run(handle, stream, tensors) == HIRGEN_OK, "run"); }

static cudaGraphExec_t captured(void) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t executable = NULL;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == 0, "begin of the capture");
  require(cudaMemcpyAsync(first[HIRGEN_EXCHANGE_A], given, bytes[HIRGEN_EXCHANGE_A], cudaMemcpyDeviceToDevice, stream) == 0, "copy");
  call(first);
  call(second);
  require(cudaStreamEndCapture(stream, &graph) == 0, "end of the capture");
  require(cudaGraphInstantiate(&executable, graph, 0) == 0, "graph");
  cudaGraphDestroy(graph);
  return executable;
}

int main(int argc, char** argv) {
  if (argc < 2) return HIRGEN_USAGE;
  hirgen_options options;
  memset(&options, 0, sizeof options);
  options.version = HIRGEN_ABI_VERSION;
  options.timeout_seconds = 5;
  require(hirgen_exchange_create(&options, &handle) == HIRGEN_OK, "create");
  for (size_t i = 0; i < HIRGEN_EXCHANGE_TENSORS; ++i) {
    hirgen_tensor tensor;
    require(hirgen_exchange_tensor(handle, i, &tensor) == HIRGEN_OK, "tensor");
    bytes[i] = tensor.local_bytes;
    require(cudaMalloc(&first[i], bytes[i]) == 0 && cudaMalloc(&second[i], bytes[i]) == 0, "memory");
  }
  require(cudaMalloc(&given, bytes[HIRGEN_EXCHANGE_A]) == 0 && cudaStreamCreate(&stream) == 0, "memory");

  /* A of ones and B of twos: C is 2 K = 64. The second call has B of ones. */
  fill(first[HIRGEN_EXCHANGE_A], bytes[HIRGEN_EXCHANGE_A], 0x3F80);
  fill(second[HIRGEN_EXCHANGE_A], bytes[HIRGEN_EXCHANGE_A], 0x3F80);
  fill(first[HIRGEN_EXCHANGE_B], bytes[HIRGEN_EXCHANGE_B], 0x4000);
  fill(second[HIRGEN_EXCHANGE_B], bytes[HIRGEN_EXCHANGE_B], 0x3F80);
  if (strcmp(argv[1], "warm") == 0) {
    call(first);
    expect(first[HIRGEN_EXCHANGE_C], 0x4280);
  }
  const cudaGraphExec_t one = captured(), other = captured();
  for (int round = 0; round < 4; ++round) {
    fill(given, bytes[HIRGEN_EXCHANGE_A], round % 2 == 0 ? 0x4000 : 0x3F80);
    require(cudaGraphLaunch(round == 2 ? other : one, stream) == 0, "launch");
    expect(first[HIRGEN_EXCHANGE_C], round % 2 == 0 ? 0x4300 : 0x4280);
    expect(second[HIRGEN_EXCHANGE_C], 0x4200);
    for (int i = 0; i < round; ++i) call(second);
    fill(first[HIRGEN_EXCHANGE_A], bytes[HIRGEN_EXCHANGE_A], 0x4040);
    call(first);
    expect(first[HIRGEN_EXCHANGE_C], 0x4340);
  }
  const int late = argc > 2 && strcmp(getenv("HIRGEN_RANK"), "0") == 0;
  if (!late) require(cudaGraphExecDestroy(one) == 0 && cudaGraphExecDestroy(other) == 0, "end");
  require(hirgen_exchange_destroy(handle) == HIRGEN_OK, "destroy");
  if (late) require(cudaGraphExecDestroy(one) == 0 && cudaGraphExecDestroy(other) == 0, "end");
  puts("right");
  return HIRGEN_OK;
}
