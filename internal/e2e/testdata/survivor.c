/* A process that outlives a peer: calls an emitted library until a rank fails, checks the report,
 * does other work, and makes another handle at SURVIVOR_PORT, where another process replaces the lost
 * rank. SURVIVOR_ROLE is "survivor"; "victim", which a fault strikes; "idler", which makes three calls
 * and no more, or "replacement", which makes the second handle only. */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exchange.h"

static hirgen_handle* handle;
static hirgen_tensor tensor[HIRGEN_EXCHANGE_TENSORS];
static void* device[HIRGEN_EXCHANGE_TENSORS];
static cudaStream_t stream;

static int failures;
static int noted_code;
static char noted[8192];

static void note(void* data, int code, const char* report) {
  if (data == (void*)&failures) ++failures;
  noted_code = code;
  snprintf(noted, sizeof noted, "%s", report);
}

static int role_is(const char* role) { return strcmp(getenv("SURVIVOR_ROLE"), role) == 0; }

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s; last error: %s\n", what, hirgen_exchange_last_error(handle));
  exit(HIRGEN_WRONG);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void create(const char* port) {
  hirgen_options options;
  memset(&options, 0, sizeof options);
  options.version = HIRGEN_ABI_VERSION;
  int devices = 0;
  require(cudaGetDeviceCount(&devices) == 0 && devices > 0, "there is a device");
  options.rank = atoi(getenv("HIRGEN_RANK"));
  options.device = options.rank % devices;
  options.world = atoi(getenv("HIRGEN_WORLD"));
  options.address = "127.0.0.1";
  options.port = atoi(port);
  options.timeout_seconds = atof(getenv("SURVIVOR_TIMEOUT"));
  options.on_failure = HIRGEN_FAILURE_RETURNS;
  options.failed = note;
  options.failed_data = &failures;
  require(cudaSetDevice(options.device) == 0, "the device is there");
  require(hirgen_exchange_create(&options, &handle) == HIRGEN_OK, "create");
}

/* Allocates the tensors. Elements of A are 1 and all others 2, so C becomes 2 K. */
static void allocate(void) {
  for (size_t i = 0; i < HIRGEN_EXCHANGE_TENSORS; ++i) {
    require(hirgen_exchange_tensor(handle, i, &tensor[i]) == HIRGEN_OK, "tensor");
    require(cudaMalloc(&device[i], tensor[i].local_bytes) == 0, "memory");
    uint16_t* host = malloc(tensor[i].local_bytes);
    for (size_t k = 0; k < tensor[i].local_bytes / 2; ++k) host[k] = i == HIRGEN_EXCHANGE_A ? 0x3F80 : 0x4000;
    require(cudaMemcpy(device[i], host, tensor[i].local_bytes, cudaMemcpyHostToDevice) == 0, "copy");
    free(host);
  }
  require(cudaStreamCreate(&stream) == 0, "stream");
}

static int call(void) {
  const int code = hirgen_exchange_run(handle, stream, device);
  if (code != HIRGEN_OK) return code;
  require(cudaStreamSynchronize(stream) == 0, "the stream runs empty");
  return hirgen_exchange_status(handle);
}

static void expect_right(void) {
  const size_t bytes = tensor[HIRGEN_EXCHANGE_C].local_bytes;
  uint16_t* host = malloc(bytes);
  for (int i = 0; i < 3; ++i) require(call() == HIRGEN_OK, "a call of the second handle");
  require(cudaMemcpy(host, device[HIRGEN_EXCHANGE_C], bytes, cudaMemcpyDeviceToHost) == 0, "copy");
  for (size_t i = 0; i < bytes / sizeof *host; ++i) require(host[i] == 0x4280, "C is 2 K"); /* 64 */
  free(host);
}

/* Calls until a call fails. Later uses of the handle return the same code, until it is destroyed. */
static void outlive(void) {
  int code = HIRGEN_OK;
  double last = seconds();
  for (int calls = 0; code == HIRGEN_OK; ++calls) {
    last = seconds();
    if (role_is("idler") && calls >= 3) {
      nanosleep(&(struct timespec){0, 10000000}, NULL);
      code = hirgen_exchange_status(handle);
    } else {
      code = call();
    }
  }
  printf("failed after %.1f s with code %d\n", seconds() - last, code);
  fflush(stdout);
  char report[8192];
  require(hirgen_exchange_run(handle, stream, device) == code, "run again has the code");
  snprintf(report, sizeof report, "%s", hirgen_exchange_last_error(handle));
  require(strstr(report, "rank 1") != NULL, "the report names rank 1");
  require(failures == 1 && noted_code == code, "the callback was called once, with the code");
  require(strcmp(noted, report) == 0, "the callback has had the report");
  require(hirgen_exchange_status(handle) == code, "status has the code");
  require(cudaStreamSynchronize(stream) == 0, "the stream runs empty");
  require(cudaMemset(device[0], 0, tensor[0].local_bytes) == 0, "the device does other work");
  require(cudaDeviceSynchronize() == 0, "the device is idle");
  for (size_t i = 0; i < HIRGEN_EXCHANGE_TENSORS; ++i) require(cudaFree(device[i]) == 0, "free");
  require(cudaStreamDestroy(stream) == 0, "the stream goes");
  require(hirgen_exchange_destroy(handle) == code, "destroy has the code");
  require(strcmp(hirgen_exchange_last_error(NULL), report) == 0, "last_error(NULL) has the report");
  require(hirgen_exchange_run(handle, stream, device) == HIRGEN_USAGE, "the handle is no more");
}

int main(void) {
  if (!role_is("replacement")) {
    create(getenv("HIRGEN_PORT"));
    allocate();
    outlive();
  }
  if (!role_is("victim") && !role_is("idler")) {
    create(getenv("SURVIVOR_PORT"));
    allocate();
    expect_right();
    require(hirgen_exchange_destroy(handle) == HIRGEN_OK, "destroy");
  }
  printf("went on\n");
  return 0;
}
