#include "ipc/peer_access.hpp"

#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "context/device.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// The driver's functions are looked up with the interface of CUDA 12.0.
constexpr unsigned kDriverVersion = 12000;
constexpr const char* kSharingHint =
    "\n  write `transport: auto`, or `via: nccl`, in the schedule, and emit it again; what "
    "was emitted with `transport: auto` chooses by itself unless it is told to, and takes NCCL "
    "with HIRGEN_TRANSPORT=nccl";

// Identifies a node. Containers with different names on a node have the same id. Tests of several
// nodes on one machine set HIRGEN_BOOT_ID.
std::string boot_id() {
  if (const char* given = std::getenv("HIRGEN_BOOT_ID"); given != nullptr) return given;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

Location this_location(int device) {
  Location location;
  char text[256] = "";
  gethostname(text, sizeof(text) - 1);
  location.host = text;
  location.boot = boot_id();
  HG_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), device), "shared memory");
  location.bus_id = text;
  return location;
}

// The ordinal of a GPU in this process; -1 if the GPU is hidden from it.
int ordinal_of(const std::string& bus_id) {
  int count = 0;
  HG_CHECK(cudaGetDeviceCount(&count), "shared memory");
  for (int device = 0; device < count; ++device) {
    char text[32] = "";
    HG_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), device), "shared memory");
    if (bus_id == text) return device;
  }
  return -1;
}

}  // namespace

std::string obstacle(const Location& mine, int device, const Location& theirs) {
  if (mine.boot != theirs.boot) {
    return "they are on different nodes, " + mine.host + " and " + theirs.host;
  }
  if (mine.bus_id == theirs.bus_id) {
    return may_share_gpu() ? "" : "they use one GPU, " + mine.bus_id;
  }
  const int peer = ordinal_of(theirs.bus_id);
  if (peer < 0) {
    return "GPU " + theirs.bus_id + " is hidden from the first (CUDA_VISIBLE_DEVICES)";
  }
  int accesses = 0;
  HG_CHECK(cudaDeviceCanAccessPeer(&accesses, device, peer), "shared memory");
  if (accesses != 0) return "";
  return "GPU " + mine.bus_id + " has no access to the memory of GPU " + theirs.bus_id +
         " (nvidia-smi topo -p2p r)";
}

std::vector<int> all_ranks(const Context& context) {
  std::vector<int> all(static_cast<size_t>(context.world()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Location> locations_of_all(Context& context) {
  const Location mine = this_location(context.options().device);
  Writer writer;
  writer.put(mine.host).put(mine.boot).put(mine.bus_id);
  std::vector<Location> locations;
  for (std::string& part : context.rendezvous().allgather(writer.bytes(), "locations of GPUs")) {
    Reader reader(std::move(part));
    Location& location = locations.emplace_back();
    for (std::string* text : {&location.host, &location.boot, &location.bus_id})
      *text = reader.get_text();
  }
  return locations;
}

std::string unreached(const Context& context, const std::vector<Location>& locations,
                      const std::vector<int>& peers) {
  const Location& mine = locations[static_cast<size_t>(context.rank())];
  for (const int rank : peers) {
    if (rank == context.rank()) continue;
    const std::string why =
        obstacle(mine, context.options().device, locations[static_cast<size_t>(rank)]);
    if (why.empty()) continue;
    return format("ranks %d and %d cannot share memory: %s", context.rank(), rank, why.c_str());
  }
  return "";
}

void require_peer_access(Context& context, const std::vector<int>& peers, const char* where) {
  const std::vector<Location> locations = locations_of_all(context);
  agree(context.rendezvous().allgather(unreached(context, locations, peers), "shared memory"),
        where);
}

void agree(const std::vector<std::string>& problems, const char* where) {
  std::set<std::string> seen;
  std::string text;
  for (const std::string& part : problems) {
    if (!part.empty() && seen.insert(part).second) text += (text.empty() ? "" : "\n  ") + part;
  }
  if (!text.empty())
    throw Error(Code::kEnvironment, std::string(where) + ": " + text + kSharingHint);
}

void* driver_entry(const char* name, const char* where) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  HG_CHECK(
      cudaGetDriverEntryPointByVersion(name, &function, kDriverVersion, cudaEnableDefault, &found),
      where);
  if (found == cudaDriverEntryPointSuccess) return function;
  throw Error(Code::kEnvironment, std::string(where) + ": the driver has no " + name);
}

}  // namespace hirgen
