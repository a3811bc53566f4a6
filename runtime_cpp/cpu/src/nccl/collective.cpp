// Collectives. A rank reads buffers of its peers and writes only its own buffers, so an operation
// needs no buffers but the caller's. A rank has reached
//
//   phase 1  when it has posted its arguments
//   phase 2  when all ranks have reached phase 1, and it has read the send buffers that it needs
//   phase 3  (all-reduce) when all have reached phase 2, and it has read its peers' reduced parts
//
// The operation is complete when all ranks have reached its last phase. Then buffers may be reused.
// An all-reduce is a reduce-scatter into this rank's part of the receive buffer, then an all-gather
// of the parts. An all-reduce also works in place: up to phase 2, only rank r reads part r of the
// buffers, and of its receive buffer rank r writes only part r. Rank r writes the other parts after
// all ranks have reached phase 2.
#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "nccl/operation.hpp"
#include "nccl/reduce.hpp"
#include "stream/order.hpp"

namespace hirgen_cpu {
namespace {

class Collective final : public Operation {
 public:
  Collective(std::shared_ptr<Comm> comm, const OpCall& call)
      : comm_(std::move(comm)), call_(call), base_(comm_->next_collective++ * kPhases) {}

  bool can_advance() const override { return state_ == 0 || all_reached(state_); }

  bool advance() override {
    if (state_ > 0 && !all_reached(state_)) return false;
    if (state_ == last_phase()) return true;
    if (state_ == 0) comm_->mine().post = call_.post;
    if (state_ == 1) {
      compare_posts();
      transfer();
    }
    if (state_ == 2) gather_parts();
    comm_->mine().phase.store(base_ + ++state_, std::memory_order_release);
    comm_->area().ring();
    return false;
  }

 private:
  uint64_t last_phase() const { return call_.post.kind == OpKind::kAllReduce ? 3 : 2; }

  bool all_reached(uint64_t phase) const {
    for (int r = 0; r < comm_->size; ++r) {
      if (comm_->area().rank[r].phase.load(std::memory_order_acquire) < base_ + phase) return false;
    }
    return true;
  }

  const OpPost& post_of(int rank) const { return comm_->area().rank[rank].post; }
  const char* send_of(int rank) const { return comm_->reach(post_of(rank).send); }

  void compare_posts() const {
    for (int r = 0; r < comm_->size; ++r) {
      const OpPost& mine = call_.post;
      const OpPost& other = post_of(r);
      if (other.kind == mine.kind && other.count == mine.count && other.type == mine.type &&
          other.reduction == mine.reduction && other.root == mine.root) {
        continue;
      }
      comm_->fail_everywhere(
          format("collective %llu of the communicator differs: rank %d issued %s, rank %d %s",
                 static_cast<unsigned long long>(base_ / kPhases), comm_->rank,
                 describe(mine).c_str(), r, describe(other).c_str()));
    }
  }

  void transfer() {
    size_t bytes = call_.post.count * size_of(call_.post.type);
    if (bytes == 0) return;
    char* receive = static_cast<char*>(call_.receive);
    auto rank = static_cast<size_t>(comm_->rank);
    switch (call_.post.kind) {
      case OpKind::kAllGather:
        for (int r = 0; r < comm_->size; ++r) {
          copy(receive + static_cast<size_t>(r) * bytes, send_of(r), bytes);
        }
        break;
      case OpKind::kBroadcast:
        copy(receive, send_of(call_.post.root), bytes);
        break;
      case OpKind::kReduceScatter:
        reduce_range(receive, rank * call_.post.count, call_.post.count);
        break;
      case OpKind::kReduce:
        if (comm_->rank == call_.post.root) reduce_range(receive, 0, call_.post.count);
        break;
      case OpKind::kAllReduce:
        reduce_range(receive + part(comm_->rank) * element(), part(comm_->rank),
                     part(comm_->rank + 1) - part(comm_->rank));
        break;
      case OpKind::kSend:
      case OpKind::kRecv:
        break;
    }
  }

  /// Copies, unless the operation is in place and the bytes are already there.
  static void copy(char* to, const char* from, size_t bytes) {
    if (to != from) memcpy(to, from, bytes);
  }

  size_t element() const { return size_of(call_.post.type); }
  /// The first element of the part that a rank reduces in an all-reduce.
  size_t part(int rank) const {
    return call_.post.count * static_cast<size_t>(rank) / static_cast<size_t>(comm_->size);
  }

  /// Reduces `count` elements from `first` on of all send buffers. NCCL does not specify in which
  /// order the values of the ranks are combined. With HIRGEN_CPU_SEED, the seed and the number of
  /// the collective decide with which rank a sum or product begins. Otherwise rank 0 comes first.
  void reduce_range(char* result, size_t first, size_t count) const {
    static const uint64_t seed = Order::seed_from_environment();
    std::vector<const void*> sources(static_cast<size_t>(comm_->size));
    for (int r = 0; r < comm_->size; ++r) {
      sources[static_cast<size_t>(r)] = send_of(r) + first * element();
    }
    const bool adds = call_.post.reduction == ncclSum || call_.post.reduction == ncclProd;
    const uint64_t turn = adds && seed != 0 ? (seed + base_ / kPhases) % sources.size() : 0;
    std::rotate(sources.begin(), sources.begin() + static_cast<ptrdiff_t>(turn), sources.end());
    reduce(result, sources, count, call_.post.type, call_.post.reduction);
  }

  void gather_parts() {
    if (call_.post.count == 0) return;
    for (int r = 0; r < comm_->size; ++r) {
      size_t begin = part(r) * element(), end = part(r + 1) * element();
      copy(static_cast<char*>(call_.receive) + begin, comm_->reach(post_of(r).receive) + begin,
           end - begin);
    }
  }

  std::shared_ptr<Comm> comm_;
  OpCall call_;
  uint64_t base_;
  uint64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make_collective(const std::shared_ptr<Comm>& comm, const OpCall& call) {
  return std::make_unique<Collective>(comm, call);
}

}  // namespace hirgen_cpu
