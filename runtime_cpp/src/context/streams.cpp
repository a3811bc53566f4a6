// Makes teams of ranks, streams and events. The context frees them.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "context/resources.hpp"
#include "hirgen/context.hpp"

namespace hirgen {
namespace {

cudaStream_t make_stream(int priority, const char* where) {
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), where);
  return stream;
}

// Whether `ranks` is 0, 1, ... world - 1.
bool is_world(const std::vector<int>& ranks, int world) {
  if (ranks.size() != static_cast<size_t>(world)) return false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

Team& Context::team(const std::vector<int>& ranks, const char* where) {
  Resources& own = *resources_;
  const bool whole = is_world(ranks, world());
  if (whole && own.world_team != nullptr) return *own.world_team;
  Team& team = bare_team(ranks, where);
  team.comm = whole ? world_comm(where) : split(ranks, team.rank, where);
  if (whole) own.world_team = &team;
  return team;
}

Team& Context::bare_team(const std::vector<int>& ranks, const char* where) {
  Resources& own = *resources_;
  const auto found = std::find(ranks.begin(), ranks.end(), rank());
  if (found == ranks.end() && !ranks.empty()) {
    throw Error(Code::kInternal, format("%s: rank %d is not in its own team", where, rank()));
  }
  auto team = std::make_unique<Team>();
  team->size = static_cast<int>(ranks.size());
  team->rank = ranks.empty() ? -1 : static_cast<int>(found - ranks.begin());
  if (!ranks.empty()) {
    team->stream = make_stream(own.highest_priority, where);
    own.team_streams.push_back(team->stream);
    name_stream(team->stream, "communicator, " + std::string(split_label(where).text));
  }
  own.teams.push_back(std::move(team));
  return *own.teams.back();
}

// The communicator of all ranks. The first call, which makes it, is collective over the world.
ncclComm_t Context::world_comm(const char* where) {
  ncclComm_t& world_comm = resources_->world;
  if (world_comm != nullptr) return world_comm;
  ncclUniqueId id{};
  if (rank() == 0) HG_CHECK(ncclGetUniqueId(&id), where);
  const std::string bytes =
      rendezvous_->broadcast(std::string(id.internal, sizeof(id.internal)), "NCCL unique id");
  std::memcpy(id.internal, bytes.data(), std::min(bytes.size(), sizeof(id.internal)));
  // Blocking, like all communicators here. With non-blocking ones, NCCL uses a thread per call, and
  // errors must not be queried while the host calls NCCL, but the monitor's thread queries them at
  // any time. If a call never returns, the watchdog ends the process.
  HG_CHECK(ncclCommInitRank(&world_comm, world(), id, rank()), where);
  resources_->monitor->watch(world_comm);
  return world_comm;
}

// The communicator of the team; null if `ranks` is empty. Collective over the world: every rank
// passes its own team. These teams do not overlap, so the lowest rank of a team is a unique color.
ncclComm_t Context::split(const std::vector<int>& ranks, int position, const char* where) {
  const int color =
      ranks.empty() ? NCCL_SPLIT_NOCOLOR : *std::min_element(ranks.begin(), ranks.end());
  ncclComm_t comm = nullptr;
  HG_CHECK(ncclCommSplit(world_comm(where), color, std::max(position, 0), &comm, nullptr), where);
  if (comm == nullptr) return nullptr;
  resources_->splits.push_back(comm);
  resources_->monitor->watch(comm);
  return comm;
}

cudaStream_t Context::worker(int index) {
  cudaStream_t& stream = resources_->workers[index];
  if (stream == nullptr) {
    stream = make_stream(resources_->lowest_priority, "worker stream");
    name_stream(stream, format("compute %d", index));
  }
  return stream;
}

void Context::name_stream(cudaStream_t stream, const std::string& name) {
  resources_->stream_names[stream] = name;
  resources_->monitor->watch(stream);
}

void Context::forget_stream(cudaStream_t stream) {
  resources_->stream_names.erase(stream);
  resources_->monitor->forget(stream);
}

std::string Context::stream_name(cudaStream_t stream) const {
  const auto found = resources_->stream_names.find(stream);
  return found == resources_->stream_names.end() ? "stream" : found->second;
}

Events Context::events(const char* name, const char* where, int64_t count) {
  const auto total = static_cast<size_t>(count * Events::kCalls);
  Events made;
  made.clock_ = &clock_;
  made.set_ = std::make_shared<Events::Set>();
  made.set_->name = name;
  made.set_->where = where;
  made.set_->count = count;
  made.set_->uses = std::vector<std::atomic<uint64_t>>(total);
  for (size_t i = 0; i < total; ++i) {
    cudaEvent_t event = nullptr;
    HG_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), where);
    made.set_->events.push_back(event);
    resources_->events.push_back(event);
  }
  resources_->monitor->watch(made);
  return made;
}

}  // namespace hirgen
