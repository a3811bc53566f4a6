// A library that is preloaded between a program and the CPU device. It logs what is created and
// released to the file LIVES_LOG, a line "PROCESS ACTION ADDRESS" each. Allocations, exports and
// closes are logged after they are done, and frees, imports and destructions before. So the lines of
// several processes are in the order of what they did.
#define _GNU_SOURCE
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void say(const char* what, const void* address) {
  char line[128];
  const int length = snprintf(line, sizeof line, "%d %s %p\n", (int)getpid(), what, address);
  const int file = open(getenv("LIVES_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

cudaError_t cudaMalloc(void** memory, size_t size) {
  const cudaError_t status = REAL(cudaMalloc)(memory, size);
  if (status == cudaSuccess) say("allocate", *memory);
  return status;
}

cudaError_t cudaFree(void* memory) {
  if (memory != NULL) say("free", memory);
  return REAL(cudaFree)(memory);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  const cudaError_t status = REAL(cudaIpcGetMemHandle)(handle, memory);
  if (status == cudaSuccess) say("export", memory);
  return status;
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned int flags) {
  say("import", NULL);
  return REAL(cudaIpcOpenMemHandle)(memory, handle, flags);
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  const cudaError_t status = REAL(cudaIpcCloseMemHandle)(memory);
  if (status == cudaSuccess) say("close", memory);
  return status;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  say("destroy", comm);
  return REAL(ncclCommDestroy)(comm);
}
