/* Two programs in one process, and two handles of one of them, on one stream: the process
 * owns the buffers, the stream and the event. The output of ag_matmul is the input of widen. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ag_matmul.h"
#include "widen.h"

static void require(int code, const char* what, const char* message) {
  if (code == HIRGEN_OK) return;
  fprintf(stderr, "%s: code %d: %s\n", what, code, message);
  exit(code);
}

static void* allocate(size_t bytes, uint16_t element) {
  void* memory = NULL;
  uint16_t* host = malloc(bytes);
  for (size_t i = 0; i < bytes / sizeof element; ++i) host[i] = element;
  if (cudaMalloc(&memory, bytes) != 0 || cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice) != 0)
    exit(HIRGEN_DEVICE);
  free(host);
  return memory;
}

int main(void) {
  hirgen_handle *first[2] = {NULL, NULL}, *second = NULL;
  for (int i = 0; i < 2; ++i)
    require(hirgen_ag_matmul_create(NULL, &first[i]), "create", hirgen_ag_matmul_last_error(NULL));
  require(hirgen_widen_create(NULL, &second), "create", hirgen_widen_last_error(NULL));

  /* A of ones and B of twos: C is 2 K = 64 everywhere, and widen's E four times that. */
  hirgen_tensor tensor;
  void *matmul[HIRGEN_AG_MATMUL_TENSORS], *again[HIRGEN_AG_MATMUL_TENSORS], *widen[HIRGEN_WIDEN_TENSORS];
  const uint16_t value[HIRGEN_AG_MATMUL_TENSORS] = {0x3F80, 0x4000, 0};
  for (size_t i = 0; i < HIRGEN_AG_MATMUL_TENSORS; ++i) {
    require(hirgen_ag_matmul_tensor(first[0], i, &tensor), "tensor", "");
    matmul[i] = allocate(tensor.local_bytes, value[i]);
    again[i] = i == HIRGEN_AG_MATMUL_C ? allocate(tensor.local_bytes, 0) : matmul[i];
  }
  require(hirgen_widen_tensor(second, HIRGEN_WIDEN_E, &tensor), "tensor", "");
  const size_t bytes = tensor.local_bytes;
  widen[HIRGEN_WIDEN_F] = matmul[HIRGEN_AG_MATMUL_C];
  widen[HIRGEN_WIDEN_E] = allocate(bytes, 0);

  cudaStream_t stream = NULL, copies = NULL;
  cudaEvent_t done = NULL;
  uint16_t* result = malloc(bytes);
  if (cudaStreamCreate(&stream) != 0 || cudaStreamCreate(&copies) != 0 || cudaEventCreate(&done) != 0)
    return HIRGEN_DEVICE;
  for (int call = 0; call < 5; ++call) {
    require(hirgen_ag_matmul_run(first[0], stream, matmul), "run", hirgen_ag_matmul_last_error(first[0]));
    require(hirgen_ag_matmul_run(first[1], stream, again), "run", hirgen_ag_matmul_last_error(first[1]));
    require(hirgen_widen_run(second, stream, widen), "run", hirgen_widen_last_error(second));
  }
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(copies, done, 0);
  cudaMemcpyAsync(result, widen[HIRGEN_WIDEN_E], bytes, cudaMemcpyDeviceToHost, copies);
  if (cudaStreamSynchronize(copies) != 0) return HIRGEN_DEVICE;
  int wrong = 0;
  for (size_t i = 0; i < bytes / sizeof *result; ++i) wrong += result[i] != 0x4380; /* 256 */
  cudaMemcpy(result, again[HIRGEN_AG_MATMUL_C], bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < bytes / sizeof *result; ++i) wrong += result[i] != 0x4280; /* 64 */

  /* A program refuses the handle of another program. */
  if (hirgen_widen_run(first[0], stream, widen) != HIRGEN_USAGE) return HIRGEN_WRONG;
  for (int i = 0; i < 2; ++i) require(hirgen_ag_matmul_destroy(first[i]), "destroy", "");
  require(hirgen_widen_destroy(second), "destroy", "");
  printf("%d wrong of %zu\n", wrong, 2 * bytes / sizeof *result);
  return wrong == 0 ? HIRGEN_OK : HIRGEN_WRONG;
}
