// The CPU device: the calls of UCC that programs with via: ucc use. Names, signatures and values
// are the same as in UCC 1.x. The structures have only the fields that the runtime sets or reads.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UCC_API_MAJOR 1
#define UCC_API_MINOR 3

#define UCC_BIT(i) (1ul << (i))

typedef struct ucc_lib_info* ucc_lib_h;
typedef struct ucc_lib_config* ucc_lib_config_h;
typedef struct ucc_context* ucc_context_h;
typedef struct ucc_context_config* ucc_context_config_h;
typedef struct ucc_team* ucc_team_h;
typedef struct ucc_ee* ucc_ee_h;
typedef uint64_t ucc_count_t;
typedef uint64_t ucc_datatype_t;

typedef enum {
  UCC_OK = 0,
  UCC_INPROGRESS = 1,
  UCC_OPERATION_INITIALIZED = 2,
  UCC_ERR_NOT_SUPPORTED = -1,
  UCC_ERR_NOT_IMPLEMENTED = -2,
  UCC_ERR_INVALID_PARAM = -3,
  UCC_ERR_NO_MEMORY = -4,
  UCC_ERR_NO_RESOURCE = -5,
  UCC_ERR_NO_MESSAGE = -6,
  UCC_ERR_NOT_FOUND = -7,
  UCC_ERR_TIMED_OUT = -8,
  UCC_ERR_IO_ERROR = -9
} ucc_status_t;

typedef enum {
  UCC_COLL_TYPE_ALLGATHER = UCC_BIT(0),
  UCC_COLL_TYPE_ALLREDUCE = UCC_BIT(2),
  UCC_COLL_TYPE_ALLTOALL = UCC_BIT(3),
  UCC_COLL_TYPE_BCAST = UCC_BIT(6),
  UCC_COLL_TYPE_GATHER = UCC_BIT(9),
  UCC_COLL_TYPE_REDUCE = UCC_BIT(11),
  UCC_COLL_TYPE_REDUCE_SCATTER = UCC_BIT(12),
  UCC_COLL_TYPE_SCATTER = UCC_BIT(14)
} ucc_coll_type_t;

typedef enum { UCC_OP_SUM = 0, UCC_OP_PROD = 1, UCC_OP_MAX = 2, UCC_OP_MIN = 3 } ucc_reduction_op_t;

#define UCC_PREDEFINED_DT(id) ((ucc_datatype_t)(((uint64_t)(id)) << 3))
#define UCC_DT_INT32 UCC_PREDEFINED_DT(2)
#define UCC_DT_INT64 UCC_PREDEFINED_DT(3)
#define UCC_DT_UINT8 UCC_PREDEFINED_DT(5)
#define UCC_DT_FLOAT16 UCC_PREDEFINED_DT(10)
#define UCC_DT_FLOAT32 UCC_PREDEFINED_DT(11)
#define UCC_DT_BFLOAT16 UCC_PREDEFINED_DT(13)

typedef enum ucc_memory_type {
  UCC_MEMORY_TYPE_HOST = 0,
  UCC_MEMORY_TYPE_CUDA = 1
} ucc_memory_type_t;

typedef enum {
  UCC_THREAD_SINGLE = 0,
  UCC_THREAD_FUNNELED = 1,
  UCC_THREAD_MULTIPLE = 2
} ucc_thread_mode_t;

enum ucc_lib_params_field { UCC_LIB_PARAM_FIELD_THREAD_MODE = UCC_BIT(0) };

typedef struct ucc_lib_params {
  uint64_t mask;
  ucc_thread_mode_t thread_mode;
} ucc_lib_params_t;

/// The out-of-band allgather that the user provides: allgather() begins it, and req_test() returns
/// UCC_OK when it has ended.
typedef struct ucc_oob_coll {
  ucc_status_t (*allgather)(void* src_buf, void* recv_buf, size_t size, void* allgather_info,
                            void** request);
  ucc_status_t (*req_test)(void* request);
  ucc_status_t (*req_free)(void* request);
  void* coll_info;
  uint32_t n_oob_eps;
  uint32_t oob_ep;
} ucc_oob_coll_t;

enum ucc_context_params_field {
  UCC_CONTEXT_PARAM_FIELD_TYPE = UCC_BIT(0),
  UCC_CONTEXT_PARAM_FIELD_OOB = UCC_BIT(2)
};

typedef enum { UCC_CONTEXT_EXCLUSIVE = 0, UCC_CONTEXT_SHARED = 1 } ucc_context_type_t;

typedef struct ucc_context_params {
  uint64_t mask;
  ucc_context_type_t type;
  ucc_oob_coll_t oob;
} ucc_context_params_t;

enum ucc_team_params_field {
  UCC_TEAM_PARAM_FIELD_EP = UCC_BIT(2),
  UCC_TEAM_PARAM_FIELD_EP_RANGE = UCC_BIT(4),
  UCC_TEAM_PARAM_FIELD_OOB = UCC_BIT(7)
};

typedef enum {
  UCC_COLLECTIVE_EP_RANGE_CONTIG = 0,
  UCC_COLLECTIVE_EP_RANGE_NONCONTIG = 1
} ucc_ep_range_type_t;

typedef struct ucc_team_params {
  uint64_t mask;
  uint64_t ep;
  ucc_ep_range_type_t ep_range;
  ucc_oob_coll_t oob;
} ucc_team_params_t;

typedef struct ucc_coll_buffer_info {
  void* buffer;
  ucc_count_t count;  ///< number of elements, of all slices together
  ucc_datatype_t datatype;
  ucc_memory_type_t mem_type;
} ucc_coll_buffer_info_t;

enum ucc_coll_args_field { UCC_COLL_ARGS_FIELD_FLAGS = UCC_BIT(0) };

typedef enum { UCC_COLL_ARGS_FLAG_IN_PLACE = UCC_BIT(0) } ucc_coll_args_flags_t;

typedef struct ucc_coll_args {
  uint64_t mask;
  ucc_coll_type_t coll_type;
  union {
    ucc_coll_buffer_info_t info;
  } src;
  union {
    ucc_coll_buffer_info_t info;
  } dst;
  ucc_reduction_op_t op;
  uint64_t flags;
  uint64_t root;
} ucc_coll_args_t;

typedef struct ucc_coll_req {
  ucc_status_t status;
} ucc_coll_req_t;
typedef struct ucc_coll_req* ucc_coll_req_h;

typedef enum ucc_event_type {
  UCC_EVENT_COLLECTIVE_POST = UCC_BIT(0),
  UCC_EVENT_COLLECTIVE_COMPLETE = UCC_BIT(1),
  UCC_EVENT_COMPUTE_COMPLETE = UCC_BIT(2)
} ucc_event_type_t;

typedef enum ucc_ee_type { UCC_EE_CUDA_STREAM = 0, UCC_EE_CPU_THREAD = 1 } ucc_ee_type_t;

typedef struct ucc_event {
  ucc_event_type_t ev_type;
  void* ev_context;
  size_t ev_context_size;
  ucc_coll_req_h req;
} ucc_ev_t;

typedef struct ucc_ee_params {
  ucc_ee_type_t ee_type;
  void* ee_context;  ///< the cudaStream_t
  size_t ee_context_size;
} ucc_ee_params_t;

#ifdef __cplusplus
extern "C" {
#endif

const char* ucc_status_string(ucc_status_t status);

ucc_status_t ucc_lib_config_read(const char* env_prefix, const char* filename,
                                 ucc_lib_config_h* config);
void ucc_lib_config_release(ucc_lib_config_h config);
ucc_status_t ucc_init_version(unsigned api_major_version, unsigned api_minor_version,
                              const ucc_lib_params_t* params, ucc_lib_config_h config,
                              ucc_lib_h* lib_p);
static inline ucc_status_t ucc_init(const ucc_lib_params_t* params, ucc_lib_config_h config,
                                    ucc_lib_h* lib_p) {
  return ucc_init_version(UCC_API_MAJOR, UCC_API_MINOR, params, config, lib_p);
}
ucc_status_t ucc_finalize(ucc_lib_h lib_p);

ucc_status_t ucc_context_config_read(ucc_lib_h lib_handle, const char* filename,
                                     ucc_context_config_h* config);
void ucc_context_config_release(ucc_context_config_h config);
ucc_status_t ucc_context_create(ucc_lib_h lib_handle, const ucc_context_params_t* params,
                                ucc_context_config_h config, ucc_context_h* context);
/// Updates the status of posted requests. A request is complete only after a call of this function.
ucc_status_t ucc_context_progress(ucc_context_h context);
ucc_status_t ucc_context_destroy(ucc_context_h context);

ucc_status_t ucc_team_create_post(ucc_context_h* contexts, uint32_t num_contexts,
                                  const ucc_team_params_t* team_params, ucc_team_h* new_team);
ucc_status_t ucc_team_create_test(ucc_team_h team);
ucc_status_t ucc_team_destroy(ucc_team_h team);

ucc_status_t ucc_collective_init(ucc_coll_args_t* coll_args, ucc_coll_req_h* request,
                                 ucc_team_h team);
static inline ucc_status_t ucc_collective_test(ucc_coll_req_h request) { return request->status; }
ucc_status_t ucc_collective_finalize(ucc_coll_req_h request);

ucc_status_t ucc_ee_create(ucc_team_h team, const ucc_ee_params_t* params, ucc_ee_h* ee);
ucc_status_t ucc_ee_destroy(ucc_ee_h ee);
ucc_status_t ucc_ee_get_event(ucc_ee_h ee, ucc_ev_t** ev);
ucc_status_t ucc_ee_ack_event(ucc_ee_h ee, ucc_ev_t* ev);
ucc_status_t ucc_collective_triggered_post(ucc_ee_h ee, ucc_ev_t* ee_event);

#ifdef __cplusplus
}  // extern "C"
#endif
