/* What the C ABIs of all emitted programs share: options, tensor descriptions, codes.
 * Plain C. An emitted header <name>.h includes this one and declares hirgen_<name>_*.
 */
#ifndef HIRGEN_C_API_H_
#define HIRGEN_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the structures and functions below; hirgen_options.version must equal it. */
#define HIRGEN_ABI_VERSION 3

/* Most axes that hirgen_tensor describes. */
#define HIRGEN_MAX_AXES 8

/* What the address of each tensor that run is given must be a multiple of, in bytes. cudaMalloc
 * gives multiples of 256; the middle of an allocation may be at any address. */
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

/* A program on one rank. Opaque. Functions on one handle may be called from several threads: they
 * come one after another, in the order in which the threads get in, on the device of the handle.
 * All ranks must make the same calls in the same order, so threads that call run need an order of
 * their own; so do several handles, whose calls the ranks issue in the same order. A handle
 * that is destroyed or null, or that another library made, gives HIRGEN_USAGE. */
typedef struct hirgen_handle hirgen_handle;

/* How this process joins. Zero-initialise, then set version. With world == 0 rank, world,
 * device and rendezvous come from the launcher's environment (torchrun, Open MPI, PMI,
 * Slurm, HIRGEN_*), and the five fields after `version` are not read.
 *
 * `plans` is a file that the program over the library wrote with --tune. What it holds for
 * this GPU model and cuBLASLt is taken; a choice that cannot be is named on stderr.
 *
 * When a rank dies, stalls or fails, every rank learns it within the deadline and five seconds.
 * `failed`, unless null, is called first, once for a handle, on a thread of the library, with the
 * code and the report, which is gone when it returns. It must not call the library on the handle,
 * and is left alone after a second. It is not called where
 * create fails before all ranks have met. Then, with HIRGEN_FAILURE_RETURNS:
 *
 * - run, status and destroy return the code, and last_error has the report. So does a create or
 *   destroy that is under way; its report is that of last_error(NULL).
 * - What calls wait for on streams is let go: flags of peers are set by this host, communicators
 *   are aborted. Streams, the caller's among them, then run empty. What those calls wrote is
 *   undefined: ask status after the stream was waited for, and before results are used.
 * - The process goes on. The handle may be destroyed, and another one created, at the same port
 *   once all ranks of the old one have done so or ended.
 *
 * What cannot be done:
 *
 * - A call of the library that is stuck in CUDA or NCCL, and does not return within two seconds
 *   after streams and communicators were let go, cannot be called back: the process ends, with the
 *   report on stderr. That is so, on GPUs, for ncclCommInitRank in create and for
 *   ncclCommFinalize in destroy, when a rank is lost right then.
 * - Work of others on the caller's stream in front of a call is not let go.
 * - A device with an error that is for good (an illegal access, a GPU that was lost, memory of a
 *   peer that is no more) stays unusable in this process, whatever the library does.
 * - Memory that other ranks can reach is not freed by destroy after a failure: a rank that lives
 *   may still read it. Nothing is freed where streams are still not let go after two seconds. */
typedef struct hirgen_options {
  uint32_t version;       /* HIRGEN_ABI_VERSION */
  int32_t rank;           /* 0 <= rank < world */
  int32_t world;          /* number of ranks; 0: read the environment */
  int32_t device;         /* CUDA device ordinal of this process */
  int32_t port;           /* TCP port of rank 0 */
  const char* address;    /* host name or address of rank 0 */
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
