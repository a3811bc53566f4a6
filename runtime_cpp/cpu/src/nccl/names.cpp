// Spelling of operations, types and results.
#include "core/element.hpp"
#include "core/error.hpp"
#include "nccl/operation.hpp"

namespace hirgen_cpu {
namespace {

const char* name_of(ncclDataType_t type) {
#define HIRGEN_CPU_NAME(element, nccl, ...) \
  if (type == nccl) return #nccl;
  HIRGEN_CPU_TYPES(HIRGEN_CPU_NAME)
#undef HIRGEN_CPU_NAME
  return "an unknown type";
}

const char* name_of(ncclRedOp_t op) {
  static constexpr const char* kNames[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin"};
  return kNames[op];
}

}  // namespace

std::string describe(const OpPost& post) {
  struct Row {
    const char* name;
    bool reduces, rooted;
  };
#define HIRGEN_CPU_ROW(name, reduces, rooted) {"nccl" #name, reduces, rooted},
  static constexpr Row kRows[] = {HIRGEN_CPU_OPERATIONS(HIRGEN_CPU_ROW)};
#undef HIRGEN_CPU_ROW
  const Row& row = kRows[static_cast<int>(post.kind)];
  std::string text = format("%s(%llu x %s", row.name, static_cast<unsigned long long>(post.count),
                            name_of(post.type));
  if (post.kind == OpKind::kSend) return text + format(") to rank %d", post.root);
  if (post.kind == OpKind::kRecv) return text + format(") from rank %d", post.root);
  if (row.reduces) text += format(", %s", name_of(post.reduction));
  if (row.rooted) text += format(", root %d", post.root);
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
