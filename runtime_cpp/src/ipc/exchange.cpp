#include "ipc/exchange.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"
#include "ipc/mailbox.hpp"
#include "ipc/peer_access.hpp"

namespace hirgen {

namespace {

// A handle stands for a whole allocation; `offset` is the position of a pointer in it, in bytes.
struct MemoryHandle {
  cudaIpcMemHandle_t handle{};
  uint64_t offset = 0;
};

// Describes `status`. Clears CUDA's last error, which a later call would report otherwise.
std::string refusal(cudaError_t status) {
  static_cast<void>(cudaGetLastError());
  return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

// Exports `memory` of `rank`. Returns the reason if that is not possible, and "" otherwise.
std::string export_memory(void* memory, size_t bytes, const SharedShape& shape, int rank,
                          MemoryHandle* handle) {
  using Range = decltype(&::cuMemGetAddressRange);
  static const Range range = driver_call<Range>("cuMemGetAddressRange", shape.where);
  CUdeviceptr base = 0;
  size_t size = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const CUresult known = range(&base, &size, address);
  const cudaError_t status = known == CUDA_SUCCESS ? cudaIpcGetMemHandle(&handle->handle, memory)
                                                   : static_cast<cudaError_t>(known);
  if (status != cudaSuccess) {
    return format(
        "rank %d: the memory of %s cannot be shared (%s): allocate it by cudaMalloc, not from a "
        "pool, as virtual memory (cuMemMap, expandable segments), managed or mapped",
        rank, shape.name, refusal(status).c_str());
  }
  handle->offset = address - base;
  if (handle->offset + bytes <= size) return "";
  return format("rank %d: %s needs %zu bytes, and its pointer has %zu", rank, shape.name, bytes,
                static_cast<size_t>(size - handle->offset));
}

std::string open_memory(const MemoryHandle& handle, const char* name, int rank, void** memory,
                        std::vector<void*>* opened) {
  void* base = nullptr;
  const cudaError_t status =
      cudaIpcOpenMemHandle(&base, handle.handle, cudaIpcMemLazyEnablePeerAccess);
  if (status != cudaSuccess) {
    return format(
        "%s of rank %d cannot be opened (%s); in a container, CUDA IPC needs --ipc=host "
        "and the process ids of the host",
        name, rank, refusal(status).c_str());
  }
  opened->push_back(base);
  *memory = static_cast<char*>(base) + handle.offset;
  return "";
}

}  // namespace

void* make_flags(Context& context, int64_t count, const char* where) {
  void* flags = nullptr;
  const size_t bytes = static_cast<size_t>(count) * sizeof(uint32_t);
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaMalloc(&flags, bytes), where);
  context.reached(bytes);
  HG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), where);
  HG_CHECK(cudaMemsetAsync(flags, 0, bytes, stream), where);
  context.synchronize(stream);
  HG_CHECK(cudaStreamDestroy(stream), where);
  return flags;
}

std::vector<Mapped> exchange(Context& context, const std::vector<int>& ranks, const Exported& mine,
                             std::vector<void*>* opened) {
  if (ranks.size() == 1) {  // a single rank exports nothing, so any memory will do
    std::vector<Mapped> alone(static_cast<size_t>(context.world()));
    alone[static_cast<size_t>(context.rank())] = {mine.buffer, mine.flags};
    return alone;
  }
  const SharedShape& shape = mine.shape;
  const std::string what = format("handles of %s", shape.name);
  MemoryHandle buffer;
  MemoryHandle flags;
  std::string problem = export_memory(mine.buffer, shape.bytes, shape, context.rank(), &buffer);
  if (problem.empty()) problem = export_memory(mine.flags, 0, shape, context.rank(), &flags);
  Mailbox mailbox(context, ranks, shape.where);
  agree(mailbox.allgather(problem, what), shape.where);
  const std::vector<std::string> all =
      mailbox.allgather(Writer().put(buffer).put(flags).bytes(), what);
  std::vector<Mapped> mapped(static_cast<size_t>(context.world()));
  for (size_t i = 0; i < ranks.size() && problem.empty(); ++i) {
    Mapped& theirs = mapped[static_cast<size_t>(ranks[i])];
    if (ranks[i] == context.rank()) {
      theirs = {mine.buffer, mine.flags};
      continue;
    }
    Reader reader(all[i]);
    buffer = reader.get<MemoryHandle>();
    flags = reader.get<MemoryHandle>();
    problem = open_memory(buffer, shape.name, ranks[i], &theirs.buffer, opened);
    if (problem.empty()) problem = open_memory(flags, shape.name, ranks[i], &theirs.flags, opened);
  }
  agree(mailbox.allgather(problem, what), shape.where);
  return mapped;
}

}  // namespace hirgen
