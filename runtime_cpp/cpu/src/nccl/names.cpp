// Spelling of operations, types and results.
#include "core/error.hpp"
#include "nccl/operation.hpp"

namespace hirgen_cpu {
namespace {

const char* name_of(ncclDataType_t type) {
  static constexpr const char* kNames[] = {
      "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
      "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  return kNames[type];
}

const char* name_of(ncclRedOp_t op) {
  static constexpr const char* kNames[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin"};
  return kNames[op];
}

}  // namespace

std::string describe(const OpPost& post) {
  static constexpr const char* kNames[] = {"ncclAllGather", "ncclReduceScatter", "ncclAllReduce",
                                           "ncclBroadcast", "ncclReduce",        "ncclSend",
                                           "ncclRecv"};
  std::string text = format("%s(%llu x %s", kNames[static_cast<int>(post.kind)],
                            static_cast<unsigned long long>(post.count), name_of(post.type));
  switch (post.kind) {
    case OpKind::kReduceScatter:
    case OpKind::kAllReduce:
      return text + format(", %s)", name_of(post.reduction));
    case OpKind::kReduce:
      return text + format(", %s, root %d)", name_of(post.reduction), post.root);
    case OpKind::kBroadcast:
      return text + format(", root %d)", post.root);
    case OpKind::kSend:
      return text + format(") to rank %d", post.root);
    case OpKind::kRecv:
      return text + format(") from rank %d", post.root);
    case OpKind::kAllGather:
      break;
  }
  return text + ")";
}

}  // namespace hirgen_cpu

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}
