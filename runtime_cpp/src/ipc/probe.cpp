#include "ipc/probe.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"
#include "ipc/peer_access.hpp"

namespace hirgen {

namespace {

// Describes the error of a call. Clears CUDA's last error, which a later call would report
// otherwise.
std::string refused(const char* what, int rank, cudaError_t status) {
  static_cast<void>(cudaGetLastError());
  return format("rank %d cannot %s: %s (%s)", rank, what, cudaGetErrorName(status),
                cudaGetErrorString(status));
}

// The steps of find_ipc_peers(), in which all ranks take part. If a rank cannot share memory with a
// peer on its node, the node is closed: its ranks share no memory, and skip the remaining tests.
class Search {
 public:
  Search(Context& context, const std::vector<int>& peers, const char* where)
      : context_(context), where_(where), locations_(locations_of_all(context)) {
    for (const int rank : peers) {
      if (rank != context.rank()) (on_my_node(rank) ? local_ : remote_).push_back(rank);
    }
  }

  IpcPeers run() {
    gather(unreached(context_, locations_, local_));
    try_to_share();
    IpcPeers found;
    found.anywhere = any(open() && !local_.empty());
    for (const int rank : all_ranks(context_)) {
      if (rank == context_.rank() || (open() && on_my_node(rank))) found.ranks.push_back(rank);
    }
    gather(unreached(context_, locations_, remote_), /*closes=*/false);
    found.obstacle = hindrance();
    return found;
  }

 private:
  const Location& mine() const { return locations_[static_cast<size_t>(context_.rank())]; }
  bool on_my_node(int rank) const {
    return locations_[static_cast<size_t>(rank)].boot == mine().boot;
  }
  bool open() const { return !closed_.contains(mine().boot); }

  // Collects the problems of all ranks; a rank without a problem sends "". If `closes`, closes the
  // nodes of ranks with a problem. Returns after all ranks have called it.
  void gather(const std::string& problem, bool closes = true) {
    const auto all = context_.rendezvous().allgather(problem, "problems with shared memory");
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].empty()) continue;
      if (hindered_.empty()) first_problem_ = all[rank];
      hindered_.insert(rank);
      if (closes) closed_.insert(locations_[rank].boot);
    }
  }

  // The first problem, and the number of other ranks with a problem.
  std::string hindrance() const {
    if (hindered_.size() < 2) return first_problem_;
    const size_t more = hindered_.size() - 1;
    return first_problem_ +
           format(" (and the like on %zu more rank%s)", more, more == 1 ? "" : "s");
  }

  bool any(bool here) {
    const auto all = context_.rendezvous().allgather(here ? "yes" : "", "shared memory");
    return std::any_of(all.begin(), all.end(), [](const std::string& is) { return !is.empty(); });
  }

  // Exports a small allocation, then opens and closes the allocations of the peers on this node, as
  // for a shared buffer.
  void try_to_share() {
    void* memory = nullptr;
    HG_CHECK(cudaMalloc(&memory, sizeof(uint32_t)), where_);
    cudaIpcMemHandle_t handle{};
    const cudaError_t status = open() ? cudaIpcGetMemHandle(&handle, memory) : cudaSuccess;
    gather(status == cudaSuccess ? "" : refused("export its memory", context_.rank(), status));
    const std::vector<std::string> handles = context_.rendezvous().allgather(
        Writer().put(handle).bytes(), "handles of a trial of shared memory");
    gather(open() ? open_and_close(handles) : "");
    HG_CHECK(cudaFree(memory), where_);  // no peer has it open: all closed it before they reported
  }

  std::string open_and_close(const std::vector<std::string>& handles) {
    for (const int rank : local_) {
      Reader reader(handles[static_cast<size_t>(rank)]);
      void* memory = nullptr;
      const cudaError_t status = cudaIpcOpenMemHandle(&memory, reader.get<cudaIpcMemHandle_t>(),
                                                      cudaIpcMemLazyEnablePeerAccess);
      if (status != cudaSuccess) {
        return refused(format("open memory of rank %d", rank).c_str(), context_.rank(), status);
      }
      HG_CHECK(cudaIpcCloseMemHandle(memory), where_);
    }
    return "";
  }

  Context& context_;
  const char* where_;
  std::vector<Location> locations_;
  std::vector<int> local_;   // peers on this node
  std::vector<int> remote_;  // peers on other nodes
  std::set<std::string> closed_;
  std::string first_problem_;
  std::set<size_t> hindered_;  // ranks with a problem
};

}  // namespace

IpcPeers find_ipc_peers(Context& context, const std::vector<int>& peers, const char* where) {
  return Search(context, peers, where).run();
}

}  // namespace hirgen
