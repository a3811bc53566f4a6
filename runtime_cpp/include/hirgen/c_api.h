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
#define HIRGEN_ABI_VERSION 2

/* Most axes that hirgen_tensor describes. */
#define HIRGEN_MAX_AXES 8

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
 * this GPU model and cuBLASLt is taken; a choice that cannot be is named on stderr. */
typedef struct hirgen_options {
  uint32_t version;       /* HIRGEN_ABI_VERSION */
  int32_t rank;           /* 0 <= rank < world */
  int32_t world;          /* number of ranks; 0: read the environment */
  int32_t device;         /* CUDA device ordinal of this process */
  int32_t port;           /* TCP port of rank 0 */
  const char* address;    /* host name or address of rank 0 */
  double timeout_seconds; /* bound of every wait; 0: 60 seconds */
  const char* plans;      /* file of the GEMMs' algorithms; null: cuBLASLt's first guess */
} hirgen_options;

/* One tensor as this rank sees it. Buffers are row-major over local_extent. A rank outside
   the tensor's mesh has none of it: its local extents are 0 and its pointer may be null. */
typedef struct hirgen_tensor {
  const char* name; /* valid while the handle lives */
  int32_t dtype;    /* 0 fp32, 1 fp16, 2 bf16 */
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
