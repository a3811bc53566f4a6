/* Options, tensor descriptions and result codes: the part of the C ABI that all emitted programs
 * share. Plain C. An emitted header <name>.h includes this one and declares hirgen_<name>_*. */
#ifndef HIRGEN_C_API_H_
#define HIRGEN_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the structures below and of the functions that emitted headers declare;
 * hirgen_options.version must equal it. */
#define HIRGEN_ABI_VERSION 3

/* The most axes that hirgen_tensor describes. */
#define HIRGEN_MAX_AXES 8

/* Alignment, in bytes, of the tensor pointers that run accepts. cudaMalloc returns multiples of
 * 256 bytes; a pointer into the middle of an allocation may have any alignment. */
#define HIRGEN_ALIGNMENT 16

/* Marks functions that a library exports even if its other symbols are hidden. */
#define HIRGEN_EXPORT __attribute__((visibility("default")))

/* Result codes. The emitted executable exits with the same codes. */
enum {
  HIRGEN_OK = 0,
  HIRGEN_WRONG = 1,       /* the check found wrong elements (executable only) */
  HIRGEN_USAGE = 2,       /* a bad argument; nothing was issued, the handle is unchanged */
  HIRGEN_ENVIRONMENT = 3, /* unusable variables, GPU, memory, file or port; or ranks do not match */
  HIRGEN_DEVICE = 4,      /* a call of CUDA, NCCL or another library of the GPU failed */
  HIRGEN_PEER = 5,        /* another rank died, failed, stalled or did not join */
  HIRGEN_TIMEOUT = 6,     /* a wait exceeded the deadline, or this rank stalled */
  HIRGEN_INTERNAL = 7     /* a bug in hirgen */
};

/* hirgen_options.on_failure: the effect of a failure on this process. Even with
 * HIRGEN_FAILURE_EXITS, this process does not exit if a call fails by an error of this rank, other
 * than a timeout: the call returns its code. */
enum {
  HIRGEN_FAILURE_EXITS = 0,  /* the process exits with the code within deadline + 5 s */
  HIRGEN_FAILURE_RETURNS = 1 /* calls return the code; see below */
};

/* A program on one rank. Opaque. Functions on one handle may be called from several threads. They
 * run one after another on the handle's device, in the order in which the threads acquire the
 * handle's lock; only last_error does not wait for it. All ranks must make the same calls in the
 * same order, also across several handles, so threads that call run must agree on an order. For a
 * handle that is null, destroyed or from another library, functions with a result code return
 * HIRGEN_USAGE, but destroy of null returns HIRGEN_OK. In a process that was forked after the first
 * create, they also return HIRGEN_USAGE: CUDA does not work there. */
typedef struct hirgen_handle hirgen_handle;

/* How this process joins the other ranks. Zero-initialise, then set version. With world == 0, the
 * library takes rank, world, device and rendezvous from the launcher's environment (torchrun, Open
 * MPI, PMI, Slurm, HIRGEN_*), and ignores the five fields after `version`.
 *
 * `plans` is a file that the emitted executable wrote with --tune. The library uses its choices
 * for this GPU model and this version of the GEMM library. It reports on stderr each GEMM of the
 * program for which the file has only choices that it cannot use.
 *
 * When a rank dies, stalls or fails, every other rank learns of it at most five seconds after the
 * deadline. The library first calls `failed`, unless it is null: once per handle, on a thread of
 * the library, with the code and the report. The report is valid only during that call. `failed`
 * must not call the library on the handle. The library waits at most one second for it. `failed` is
 * not called if create fails before all ranks have met. Then, with HIRGEN_FAILURE_RETURNS:
 *
 * - run, status and destroy return the code, and last_error returns the report. A create or
 *   destroy in progress also returns the code; last_error(NULL) then returns the report.
 * - The library ends all waits of issued calls: it sets the flags that they wait for, from the
 *   host, and aborts communicators. All streams, including the caller's, then drain. The results
 *   of those calls are undefined: synchronize the stream, then call status before you use
 *   results.
 * - The process goes on. The handle may be destroyed. Another handle can be created at the same
 *   port once every rank has destroyed the old handle or ended.
 *
 * Limits:
 *
 * - If a call of the library is stuck in CUDA or NCCL, and does not return within two seconds
 *   after streams and communicators were released, the process ends with the report on stderr.
 *   On GPUs this happens for ncclCommInitRank in create and ncclCommFinalize in destroy, if a
 *   rank is lost during them.
 * - The library cannot release other work that precedes a call on the caller's stream.
 * - A device with a permanent error (an illegal access, a lost GPU, memory of a peer that is
 *   gone) stays unusable in this process.
 * - After a failure, destroy does not free memory that other ranks can access: a live rank may
 *   still read it. Destroy frees nothing if streams do not drain within two seconds. */
typedef struct hirgen_options {
  uint32_t version;    /* HIRGEN_ABI_VERSION */
  int32_t rank;        /* 0 <= rank < world */
  int32_t world;       /* number of ranks; 0: read the environment */
  int32_t device;      /* CUDA device ordinal of this process */
  int32_t port;        /* TCP port of rank 0; 0: `address` contains the port */
  const char* address; /* host name or address of rank 0; with a port: "node0:4000", "[::1]:4000" */
  double timeout_seconds; /* deadline of every wait in seconds, at least 1; 0: 60 */
  const char* plans;      /* file with algorithms of GEMMs; null: use the heuristic */
  int32_t on_failure;     /* HIRGEN_FAILURE_EXITS, or HIRGEN_FAILURE_RETURNS */
  void (*failed)(void* data, int code, const char* report);
  void* failed_data; /* first argument of `failed` */
} hirgen_options;

/* One tensor on this rank. Its buffer is row-major over local_extent and begins at a multiple of
   HIRGEN_ALIGNMENT bytes; run returns HIRGEN_USAGE for other pointers. A rank outside the tensor's
   mesh has no part of it: its local extents are 0, and its pointer may be null. */
typedef struct hirgen_tensor {
  const char* name; /* valid until destroy */
  int32_t dtype;    /* 0 fp32, 1 fp16, 2 bf16, 3 int32, 4 int64, 5 fp8_e4m3, 6 fp8_e5m2 */
  int32_t output;   /* 1: run writes the tensor; 0: an input */
  int32_t axes;     /* number of entries of the extents, at most HIRGEN_MAX_AXES */
  int64_t extent[HIRGEN_MAX_AXES];       /* over all ranks */
  int64_t local_extent[HIRGEN_MAX_AXES]; /* on this rank */
  size_t local_bytes;                    /* size of the buffer that run expects */
} hirgen_tensor;

#ifdef __cplusplus
}
#endif

#endif /* HIRGEN_C_API_H_ */
