/* A C program that owns its buffers and its stream and calls an emitted library on them:
 * what a framework that embeds hirgen's output does. Exits with the first failing code. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag_matmul.h"

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static float from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* Element of A in row `row` of slice `s` of rank `rank`, and of B. Small: sums are exact. */
static float a_at(int64_t s, int64_t rank, int64_t row, int64_t k) {
  return (float)((3 * s + 5 * rank + 7 * row + k) % 3 - 1);
}
static float b_at(int64_t k, int64_t n) { return (float)((k + 2 * n) % 5 - 2); }

static void require(int code, const hirgen_handle* handle, const char* what) {
  if (code == HIRGEN_OK) return;
  fprintf(stderr, "%s: code %d: %s\n", what, code, hirgen_ag_matmul_last_error(handle));
  exit(code);
}

int main(void) {
  hirgen_handle* handle = NULL;
  hirgen_options options;
  memset(&options, 0, sizeof options);
  options.version = HIRGEN_ABI_VERSION + 1;
  if (hirgen_ag_matmul_create(&options, &handle) != HIRGEN_USAGE || handle != NULL ||
      strlen(hirgen_ag_matmul_last_error(NULL)) == 0) {
    fprintf(stderr, "create accepted an unknown version\n");
    return HIRGEN_WRONG;
  }
  options.version = HIRGEN_ABI_VERSION;
  options.timeout_seconds = 20;
  require(hirgen_ag_matmul_create(&options, &handle), NULL, "create");

  hirgen_tensor t[HIRGEN_AG_MATMUL_TENSORS];
  void* device[HIRGEN_AG_MATMUL_TENSORS];
  for (size_t i = 0; i < HIRGEN_AG_MATMUL_TENSORS; ++i) {
    require(hirgen_ag_matmul_tensor(handle, i, &t[i]), handle, "tensor");
    if (cudaMalloc(&device[i], t[i].local_bytes) != 0) return HIRGEN_DEVICE;
  }
  const hirgen_tensor *A = &t[HIRGEN_AG_MATMUL_A], *B = &t[HIRGEN_AG_MATMUL_B], *C = &t[HIRGEN_AG_MATMUL_C];
  const int64_t S = A->extent[0], D = A->extent[1], R = A->extent[2], K = A->extent[3], N = B->extent[1];
  const int rank = atoi(getenv("HIRGEN_RANK"));

  uint16_t* a = malloc(A->local_bytes);
  uint16_t* b = malloc(B->local_bytes);
  uint16_t* c = malloc(C->local_bytes);
  for (int64_t s = 0, i = 0; s < S; ++s)
    for (int64_t row = 0; row < R; ++row)
      for (int64_t k = 0; k < K; ++k) a[i++] = to_bf16(a_at(s, rank, row, k));
  for (int64_t k = 0, i = 0; k < K; ++k)
    for (int64_t n = 0; n < N; ++n) b[i++] = to_bf16(b_at(k, n));
  cudaMemcpy(device[HIRGEN_AG_MATMUL_A], a, A->local_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device[HIRGEN_AG_MATMUL_B], b, B->local_bytes, cudaMemcpyHostToDevice);

  cudaStream_t stream = NULL;
  if (cudaStreamCreate(&stream) != 0) return HIRGEN_DEVICE;
  for (int call = 0; call < 3; ++call)
    require(hirgen_ag_matmul_run(handle, stream, device), handle, "run");
  if (hirgen_ag_matmul_run(handle, stream, NULL) != HIRGEN_USAGE) {
    fprintf(stderr, "run accepted no tensors\n");
    return HIRGEN_WRONG;
  }
  if (cudaStreamSynchronize(stream) != 0) return HIRGEN_DEVICE;
  cudaMemcpy(c, device[HIRGEN_AG_MATMUL_C], C->local_bytes, cudaMemcpyDeviceToHost);

  int64_t wrong = 0, i = 0;
  for (int64_t s = 0; s < S; ++s)
    for (int64_t d = 0; d < D; ++d)
      for (int64_t row = 0; row < R; ++row)
        for (int64_t n = 0; n < N; ++n) {
          float sum = 0;
          for (int64_t k = 0; k < K; ++k) sum += a_at(s, d, row, k) * b_at(k, n);
          wrong += from_bf16(c[i++]) != sum;
        }
  for (size_t k = 0; k < HIRGEN_AG_MATMUL_TENSORS; ++k) cudaFree(device[k]);
  cudaStreamDestroy(stream);
  require(hirgen_ag_matmul_destroy(handle), NULL, "destroy");
  free(a);
  free(b);
  free(c);
  printf("%lld wrong of %lld\n", (long long)wrong, (long long)i);
  return wrong == 0 ? HIRGEN_OK : HIRGEN_WRONG;
}
