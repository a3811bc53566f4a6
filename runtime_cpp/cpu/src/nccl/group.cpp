#include "nccl/group.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "graph/capture.hpp"
#include "stream/stream.hpp"

namespace hirgen_cpu {
namespace {

/// The operations of a group on one communicator.
class GroupTask final : public Task {
 public:
  GroupTask(std::shared_ptr<Comm> comm, std::vector<OpCall> calls)
      : comm_(std::move(comm)), calls_(std::move(calls)) {}

  bool ready() const override {
    if (!started_ || comm_->aborted() || comm_->failed()) return true;
    return std::any_of(running_.begin(), running_.end(),
                       [](const auto& operation) { return operation->can_advance(); });
  }

  WaitHint hint() const override {
    return {&comm_->area().bell, comm_->area().bell.load(std::memory_order_acquire)};
  }

  bool step() override {
    if (comm_->aborted()) return true;
    comm_->check_failed();
    if (!started_) start();
    std::erase_if(running_, [](const auto& operation) { return operation->advance(); });
    if (!collective_running()) start_next_collective();
    return running_.empty();
  }

 private:
  void start() {
    started_ = true;
    for (const OpCall& call : calls_) {
      if (!is_collective(call.post.kind)) running_.push_back(make_point_to_point(comm_, call));
    }
    start_next_collective();
  }

  /// Starts the next collective of the group, if there is one. The collectives of a group run one
  /// after another; its sends and receives run at the same time.
  void start_next_collective() {
    collective_ = nullptr;
    while (next_ < calls_.size() && !is_collective(calls_[next_].post.kind)) ++next_;
    if (next_ == calls_.size()) return;
    running_.push_back(make_collective(comm_, calls_[next_++]));
    collective_ = running_.back().get();
  }

  bool collective_running() const {
    return std::any_of(running_.begin(), running_.end(),
                       [&](const auto& operation) { return operation.get() == collective_; });
  }

  std::shared_ptr<Comm> comm_;
  std::vector<OpCall> calls_;
  std::vector<std::unique_ptr<Operation>> running_;
  const Operation* collective_ = nullptr;
  size_t next_ = 0;
  bool started_ = false;
};

struct Issued {
  std::shared_ptr<Comm> comm;
  OpCall call;
  cudaStream_t stream;
};

struct Group {
  int depth = 0;
  ncclResult_t refused = ncclSuccess;  ///< result of the last call that was refused in this group
  std::vector<Issued> calls;
  std::vector<std::shared_ptr<Comm>> settling;
};
thread_local Group group;

void check(cudaError_t status) {
  if (status != cudaSuccess) throw NcclFailure{ncclUnhandledCudaError, cudaGetErrorString(status)};
}

/// Makes later work of `later` wait for the current work of `earlier`, also during capture.
void order(cudaStream_t earlier, cudaStream_t later) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  check(cudaEventRecord(event, earlier));
  check(cudaStreamWaitEvent(later, event, 0));
  check(cudaEventDestroy(event));
}

/// Issues the calls as one task on the first stream. The task waits for the other streams, and they
/// wait for the task.
void launch(const std::shared_ptr<Comm>& comm, const std::vector<OpCall>& calls,
            const std::vector<cudaStream_t>& streams) {
  for (size_t i = 1; i < streams.size(); ++i) order(streams[i], streams[0]);
  if (const auto capture = capture_of(streams[0])) capture->keep(comm->kept_by_graph());
  submit(streams[0], [comm, calls](Stream& stream) {
    comm->order_after_last(stream);
    uint64_t position = Scheduler::get().push(stream, std::make_unique<GroupTask>(comm, calls));
    comm->set_last(stream, position);
  });
  for (size_t i = 1; i < streams.size(); ++i) order(streams[0], streams[i]);
}

void launch_all(const std::vector<Issued>& issued) {
  std::vector<std::shared_ptr<Comm>> comms;
  for (const Issued& one : issued) {
    if (std::find(comms.begin(), comms.end(), one.comm) == comms.end()) comms.push_back(one.comm);
  }
  for (const auto& comm : comms) {
    std::vector<OpCall> calls;
    std::vector<cudaStream_t> streams;
    for (const Issued& one : issued) {
      if (one.comm != comm) continue;
      calls.push_back(one.call);
      if (std::find(streams.begin(), streams.end(), one.stream) == streams.end()) {
        streams.push_back(one.stream);
      }
    }
    launch(comm, calls, streams);
  }
}

}  // namespace

void issue(const std::shared_ptr<Comm>& comm, const OpCall& call, cudaStream_t stream) {
  if (group.depth == 0) return launch(comm, {call}, {stream});
  group.calls.push_back({comm, call, stream});
}

void refuse_group(ncclResult_t result) {
  if (group.depth > 0) group.refused = result;
}

bool defer_to_group(const std::shared_ptr<Comm>& comm) {
  if (group.depth > 0) group.settling.push_back(comm);
  return group.depth > 0;
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return nccl_api("ncclGroupEnd", [] {
    if (group.depth == 0) throw NcclFailure{ncclInvalidUsage, "no group is open"};
    if (--group.depth > 0) return ncclSuccess;
    Group finished = std::exchange(group, Group{});
    ncclResult_t result = finished.refused;
    for (const auto& comm : finished.settling) {
      if (comm->blocking) comm->settle();
      if (comm->status() != ncclSuccess) result = comm->status();
    }
    // As in NCCL, if one operation is refused, no operation of the group runs.
    if (finished.refused == ncclSuccess) launch_all(finished.calls);
    return result;
  });
}
