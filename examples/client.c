/* Calls the library of testdata/specs/ag_matmul on matrices of ones, and prints C[0], which must be
 * K. docs/c.md shows how to start it on each rank. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag_matmul.h"

static void require(int code, const hirgen_handle* handle) {
  if (code == HIRGEN_OK) return;
  fprintf(stderr, "%s\n", hirgen_ag_matmul_last_error(handle));
  exit(code);
}

/* Allocates device memory and fills it with ones in bfloat16. */
static void* ones(size_t bytes) {
  uint16_t* values = malloc(bytes);
  void* device = NULL;
  if (values == NULL || cudaMalloc(&device, bytes) != cudaSuccess) exit(HIRGEN_DEVICE);
  for (size_t i = 0; i < bytes / sizeof *values; ++i) values[i] = 0x3f80;
  if (cudaMemcpy(device, values, bytes, cudaMemcpyHostToDevice) != cudaSuccess) exit(HIRGEN_DEVICE);
  free(values);
  return device;
}

int main(void) {
  hirgen_handle* handle = NULL;
  require(hirgen_ag_matmul_create(NULL, &handle), NULL); /* rank and world: from the launcher */

  void* tensors[HIRGEN_AG_MATMUL_TENSORS];
  for (size_t i = 0; i < HIRGEN_AG_MATMUL_TENSORS; ++i) {
    hirgen_tensor tensor;
    require(hirgen_ag_matmul_tensor(handle, i, &tensor), handle);
    tensors[i] = ones(tensor.local_bytes);
  }

  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) return HIRGEN_DEVICE;
  require(hirgen_ag_matmul_run(handle, stream, tensors), handle); /* does not block */
  if (cudaStreamSynchronize(stream) != cudaSuccess) return HIRGEN_DEVICE;

  uint16_t first;
  if (cudaMemcpy(&first, tensors[HIRGEN_AG_MATMUL_C], sizeof first, cudaMemcpyDeviceToHost) !=
      cudaSuccess)
    return HIRGEN_DEVICE;
  const uint32_t bits = (uint32_t)first << 16; /* a bfloat16 is the upper half of a float */
  float value;
  memcpy(&value, &bits, sizeof value);
  printf("C[0] = %g\n", value);
  return hirgen_ag_matmul_destroy(handle);
}
