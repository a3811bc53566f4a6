#include "ipc_probe.hpp"

#include <cuda_runtime.h>

#include <vector>

#include "hirgen/error.hpp"
#include "ipc_reach.hpp"
#include "rendezvous.hpp"
#include "text.hpp"
#include "wire.hpp"

namespace hirgen {

namespace {

// The first rank's problem, and on how many others there is one.
std::string first_of(const std::vector<std::string>& problems) {
  std::string first;
  int more = 0;
  for (const std::string& problem : problems) {
    if (problem.empty()) continue;
    if (first.empty()) {
      first = problem;
    } else {
      ++more;
    }
  }
  if (more > 0) first += format(" (and the like on %d more rank%s)", more, more == 1 ? "" : "s");
  return first;
}

// The problems of all ranks as one line; every rank has waited for all others then.
std::string gathered(Context& context, const std::string& problem) {
  return first_of(context.rendezvous().allgather(problem, "problems with shared memory"));
}

// A refusal belongs to the machine, and must not show in a later call.
std::string refused(const char* what, int rank, cudaError_t status) {
  static_cast<void>(cudaGetLastError());
  return format("rank %d cannot %s: %s (%s)", rank, what, cudaGetErrorName(status),
                cudaGetErrorString(status));
}

std::string open_and_close(const std::vector<std::string>& handles, Context& context,
                           const std::vector<int>& peers, const char* where) {
  for (const int rank : peers) {
    if (rank == context.rank()) continue;
    Reader reader(handles[static_cast<size_t>(rank)]);
    void* memory = nullptr;
    const cudaError_t status = cudaIpcOpenMemHandle(&memory, reader.get<cudaIpcMemHandle_t>(),
                                                    cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess) {
      return refused(format("open memory of rank %d", rank).c_str(), context.rank(), status);
    }
    HG_CHECK(cudaIpcCloseMemHandle(memory), where);
  }
  return "";
}

// Does with a small allocation what a program does with its buffers.
std::string try_to_share(Context& context, const std::vector<int>& peers, const char* where) {
  void* memory = nullptr;
  HG_CHECK(cudaMalloc(&memory, sizeof(uint32_t)), where);
  cudaIpcMemHandle_t handle{};
  const cudaError_t status = cudaIpcGetMemHandle(&handle, memory);
  std::string problem = gathered(
      context, status == cudaSuccess ? "" : refused("export its memory", context.rank(), status));
  if (problem.empty()) {
    const std::vector<std::string> handles = context.rendezvous().allgather(
        Writer().put(handle).bytes(), "handles of a trial of shared memory");
    problem = gathered(context, open_and_close(handles, context, peers, where));
  }
  HG_CHECK(cudaFree(memory), where);  // nobody has it open: all have closed it before they said so
  return problem;
}

}  // namespace

std::string sharing_obstacle(Context& context, const std::vector<int>& peers, const char* where) {
  const std::string problem = gathered(context, unreached(context, peers));
  return problem.empty() ? try_to_share(context, peers, where) : problem;
}

}  // namespace hirgen
