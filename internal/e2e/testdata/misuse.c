/* Misuses an emitted library in the way that the argument names. Each wrong call returns an error
 * with a message, and later calls are right. */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag_matmul.h"

static hirgen_handle* handle;
static hirgen_tensor tensor[HIRGEN_AG_MATMUL_TENSORS];
static void* device[HIRGEN_AG_MATMUL_TENSORS];
static cudaStream_t stream;

/* Ends the process unless a function returned this code and, for an error, the message has this part. */
static void expect(int code, int wanted, const char* part) {
  const char* message = hirgen_ag_matmul_last_error(handle);
  if (code == wanted && (code == HIRGEN_OK || strstr(message, part) != NULL)) return;
  fprintf(stderr, "code %d, not %d with \"%s\": %s\n", code, wanted, part, message);
  exit(HIRGEN_WRONG);
}

/* Fills a tensor. Elements of A are 1 and elements of B are 2, so elements of C are 2 K. */
static void fill(void* to, size_t bytes, uint16_t element) {
  uint16_t* host = malloc(bytes);
  for (size_t i = 0; i < bytes / sizeof element; ++i) host[i] = element;
  if (cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice) != 0) exit(HIRGEN_DEVICE);
  free(host);
}

static void set_up(void) {
  hirgen_options options;
  memset(&options, 0, sizeof options);
  options.version = HIRGEN_ABI_VERSION;
  options.timeout_seconds = 5;
  expect(hirgen_ag_matmul_create(&options, &handle), HIRGEN_OK, "");
  for (size_t i = 0; i < HIRGEN_AG_MATMUL_TENSORS; ++i) {
    expect(hirgen_ag_matmul_tensor(handle, i, &tensor[i]), HIRGEN_OK, "");
    if (cudaMalloc(&device[i], tensor[i].local_bytes) != 0) exit(HIRGEN_DEVICE);
  }
  fill(device[HIRGEN_AG_MATMUL_A], tensor[HIRGEN_AG_MATMUL_A].local_bytes, 0x3F80);
  fill(device[HIRGEN_AG_MATMUL_B], tensor[HIRGEN_AG_MATMUL_B].local_bytes, 0x4000);
  if (cudaStreamCreate(&stream) != 0) exit(HIRGEN_DEVICE);
}

static int run(void) { return hirgen_ag_matmul_run(handle, stream, device); }

static void expect_right(void) {
  const size_t bytes = tensor[HIRGEN_AG_MATMUL_C].local_bytes;
  uint16_t* host = malloc(bytes);
  memset(host, 0, bytes);
  expect(run(), HIRGEN_OK, "");
  if (cudaStreamSynchronize(stream) != 0) exit(HIRGEN_DEVICE);
  cudaMemcpy(host, device[HIRGEN_AG_MATMUL_C], bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < bytes / sizeof *host; ++i) {
    if (host[i] == 0x4280) continue; /* 64 = 2 K */
    fprintf(stderr, "element %zu of C is %x\n", i, host[i]);
    exit(HIRGEN_WRONG);
  }
  free(host);
}

/* Makes one call with a wrong pointer for a tensor, and expects an error. */
static void run_with(size_t index, void* pointer, const char* part) {
  void* const right = device[index];
  device[index] = pointer;
  expect(run(), HIRGEN_USAGE, part);
  device[index] = right;
}

static void host_pointer(void) {
  void* pageable = malloc(tensor[HIRGEN_AG_MATMUL_C].local_bytes);
  if (atoi(getenv("HIRGEN_RANK")) == 1) run_with(HIRGEN_AG_MATMUL_B, pageable, "the pointer of tensor B, 0x");
  expect_right();
  if (atoi(getenv("HIRGEN_RANK")) == 0) run_with(HIRGEN_AG_MATMUL_C, pageable, "the pointer of tensor C, 0x");
  expect_right();
  free(pageable);
}

/* The calls of rank 1 are refused, and it calls again. Rank 0 waits, and both results are right. */
static void unaligned_pointer(void) {
  for (size_t beyond = 2; beyond < 16; beyond += 6) {
    char part[64];
    snprintf(part, sizeof part, "is %zu bytes beyond a multiple of 16", beyond);
    for (size_t i = 0; i < HIRGEN_AG_MATMUL_TENSORS && atoi(getenv("HIRGEN_RANK")) == 1; ++i) {
      run_with(i, (char*)device[i] + beyond, part);
      run_with(i, (char*)device[i] + beyond, tensor[i].name);
    }
    expect_right();
  }
}

/* Rank 1 gives up, by leaving or by doing nothing: rank 0 must not wait for ever. */
static void host_pointer_for_good(int leaves) {
  static float pageable[1];
  if (atoi(getenv("HIRGEN_RANK")) == 1) {
    run_with(HIRGEN_AG_MATMUL_A, pageable, "the pointer of tensor A, 0x");
    if (leaves) exit(hirgen_ag_matmul_destroy(handle));
    for (;;) cudaStreamSynchronize(stream);
  }
  expect(run(), HIRGEN_OK, "");
  cudaStreamSynchronize(stream);
  exit(hirgen_ag_matmul_destroy(handle));
}

static void capture(void) {
  for (int round = 0; round < 2; ++round) {
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != 0) exit(HIRGEN_DEVICE);
    expect(run(), HIRGEN_USAGE, "the caller's stream is being captured");
    if (cudaStreamEndCapture(stream, &graph) != 0) exit(HIRGEN_DEVICE);
    cudaGraphDestroy(graph);
    expect_right();
  }
}

static void* many_calls(void* unused) {
  for (int i = 0; i < 20; ++i) expect(run(), HIRGEN_OK, "");
  return unused;
}

static void threads(void) {
  pthread_t thread[3];
  for (int i = 0; i < 3; ++i) pthread_create(&thread[i], NULL, many_calls, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  expect_right();
}

static void destroyed(void) {
  expect_right();
  expect(hirgen_ag_matmul_destroy(handle), HIRGEN_OK, "");
  expect(run(), HIRGEN_USAGE, "the handle was destroyed");
  expect(hirgen_ag_matmul_tensor(handle, 0, &tensor[0]), HIRGEN_USAGE, "the handle was destroyed");
  expect(hirgen_ag_matmul_destroy(handle), HIRGEN_USAGE, "the handle was destroyed");
  if (strcmp(hirgen_ag_matmul_transport(handle), "") != 0) exit(HIRGEN_WRONG);
  handle = NULL;
  expect(run(), HIRGEN_USAGE, "the handle is null");
}

int main(int argc, char** argv) {
  if (argc != 2) return HIRGEN_USAGE;
  const char* what = argv[1];
  set_up();
  if (strcmp(what, "host pointer") == 0) host_pointer();
  if (strcmp(what, "unaligned pointer") == 0) unaligned_pointer();
  if (strcmp(what, "host pointer, then leaves") == 0) host_pointer_for_good(1);
  if (strcmp(what, "host pointer, then nothing") == 0) host_pointer_for_good(0);
  if (strcmp(what, "capture") == 0) capture();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "destroyed") == 0) destroyed();
  expect(hirgen_ag_matmul_destroy(handle), HIRGEN_OK, "");
  printf("right\n");
  return HIRGEN_OK;
}
