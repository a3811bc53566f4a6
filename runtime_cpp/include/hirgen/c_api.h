/* Options, tensor descriptions and result codes: the part of the C ABI that all emitted programs
 * share. Plain C. An emitted header <name>.h includes this one and declares hirgen_<name>_*. */
#ifndef HIRGEN_C_API_H_
#define HIRGEN_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the structures and functions below; hirgen_options.version must equal it. */
#define HIRGEN_ABI_VERSION 3

/* The most axes that hirgen_tensor describes. */
#define HIRGEN_MAX_AXES 8

/* The address of each tensor that run takes must be a multiple of this many bytes. cudaMalloc
 * returns multiples of 256; a pointer into an allocation may be at any address. */
#define HIRGEN_ALIGNMENT 16

/* Exported from the library even when everything else is hidden. */
#define HIRGEN_EXPORT __attribute__((visibility("default")))

/* Result codes; the program over the library exits with the same ones. */
enum {
  HIRGEN_OK = 0,
  HIRGEN_WRONG = 1,       /* the check counted wrong elements (program only) */
  HIRGEN_USAGE = 2,       /* a bad argument; nothing was issued, the handle is as it was */
  HIRGEN_ENVIRONMENT = 3, /* launch variables, GPU, port: the machine is not as needed */
  HIRGEN_DEVICE = 4,      /* a CUDA, NCCL or cuBLAS call failed */
  HIRGEN_PEER = 5,        /* another rank died, stalled or runs another program */
  HIRGEN_TIMEOUT = 6,     /* a wait exceeded the deadline */
  HIRGEN_INTERNAL = 7     /* a mistake of hirgen */
};

/* What a failure does to the process: hirgen_options.on_failure. */
enum {
  HIRGEN_FAILURE_EXITS = 0,  /* it ends with the code, within the deadline and five seconds */
  HIRGEN_FAILURE_RETURNS = 1 /* calls return the code; see below */
};

/* A program on one rank. Opaque. Functions on one handle may be called from several threads.
 * They run one after another on the device of the handle, in the order in which the threads get
 * the handle's lock. All ranks must make the same calls in the same order, so threads that call
 * run must agree on an order. The same holds for the calls of several handles. A handle that is
 * null, destroyed or from another library gives HIRGEN_USAGE. So does every call in a process that
 * was forked after the first create: CUDA does not work there. */
typedef struct hirgen_handle hirgen_handle;

/* How this process joins. Zero-initialise, then set version. With world == 0, the library takes
 * rank, world, device and rendezvous from the launcher's environment (torchrun, Open MPI, PMI,
 * Slurm, HIRGEN_*), and ignores the five fields after `version`.
 *
 * `plans` is a file that the program over the library wrote with --tune. The library uses its
 * choices for this GPU model and cuBLASLt, and reports on stderr a choice that it cannot use.
 *
 * When a rank dies, stalls or fails, every rank learns it within the deadline and five seconds.
 * The library first calls `failed`, unless it is null: once for a handle, on a thread of the
 * library, with the code and the report. The report is valid only during that call. `failed`
 * must not call the library on the handle, and the library waits for it for a second at most. It
 * is not called if create fails before all ranks have met. Then, with HIRGEN_FAILURE_RETURNS:
 *
 * - run, status and destroy return the code, and last_error returns the report. A create or
 *   destroy in progress returns the code too; last_error(NULL) has its report.
 * - The library releases everything that calls wait for on streams: it sets the flags of peers
 *   from this host and aborts communicators. All streams, also the caller's, then run empty. The
 *   results of those calls are undefined: synchronize the stream, then call status before you
 *   use results.
 * - The process goes on. The handle may be destroyed. Another one can be created at the same
 *   port once all ranks have destroyed the old one or ended.
 *
 * Limits:
 *
 * - If a call of the library is stuck in CUDA or NCCL, and does not return within two seconds
 *   after streams and communicators were released, the process ends with the report on stderr.
 *   On GPUs this happens for ncclCommInitRank in create and ncclCommFinalize in destroy, if a
 *   rank is lost during them.
 * - Other work that is on the caller's stream before a call is not released.
 * - A device with a permanent error (an illegal access, a lost GPU, memory of a peer that is
 *   gone) stays unusable in this process.
 * - After a failure, destroy does not free memory that other ranks can use: a live rank may
 *   still read it. Destroy frees nothing if streams are not released within two seconds. */
typedef struct hirgen_options {
  uint32_t version;    /* HIRGEN_ABI_VERSION */
  int32_t rank;        /* 0 <= rank < world */
  int32_t world;       /* number of ranks; 0: read the environment */
  int32_t device;      /* CUDA device ordinal of this process */
  int32_t port;        /* TCP port of rank 0; 0: the address has it */
  const char* address; /* host name or address of rank 0; with a port: "node0:4000", "[::1]:4000" */
  double timeout_seconds; /* bound of every wait; 0: 60 seconds */
  const char* plans;      /* file of the GEMMs' algorithms; null: cuBLASLt's first guess */
  int32_t on_failure;     /* HIRGEN_FAILURE_EXITS, or HIRGEN_FAILURE_RETURNS */
  void (*failed)(void* data, int code, const char* report);
  void* failed_data; /* its first argument */
} hirgen_options;

/* One tensor as this rank sees it. Buffers are row-major over local_extent and begin at multiples
   of HIRGEN_ALIGNMENT bytes, or run refuses them with HIRGEN_USAGE. A rank outside
   the tensor's mesh has none of it: its local extents are 0 and its pointer may be null. */
typedef struct hirgen_tensor {
  const char* name; /* valid while the handle lives */
  int32_t dtype;    /* 0 fp32, 1 fp16, 2 bf16, 3 int32, 4 int64 */
  int32_t output;   /* 1 if run writes it */
  int32_t axes;
  int64_t extent[HIRGEN_MAX_AXES];       /* over all ranks */
  int64_t local_extent[HIRGEN_MAX_AXES]; /* on this rank */
  size_t local_bytes;                    /* size that run expects behind the pointer */
} hirgen_tensor;

#ifdef __cplusplus
}
#endif

#endif /* HIRGEN_C_API_H_ */
