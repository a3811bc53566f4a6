// Send and receive. The receiver reads from the sender's buffer. A send completes only after the
// receiver has taken the message.
#include <cstring>

#include "core/error.hpp"
#include "nccl/operation.hpp"
#include "nccl/reduce.hpp"

namespace hirgen_cpu {
namespace {

class Send final : public Operation {
 public:
  Send(std::shared_ptr<Comm> comm, const OpCall& call)
      : comm_(std::move(comm)),
        call_(call),
        number_(comm_->next_send[static_cast<size_t>(call.post.root)]++) {}

  bool can_advance() const override { return posted_ ? is_taken() : has_room(); }

  bool advance() override {
    if (!can_advance()) return false;
    if (posted_) return true;
    pair().slots[number_ % kSendDepth] = call_.post;
    pair().posted.store(number_ + 1, std::memory_order_release);
    comm_->area().ring();
    posted_ = true;
    return false;
  }

 private:
  PairArea& pair() const { return comm_->area().pair[comm_->rank][call_.post.root]; }
  bool has_room() const {
    return pair().posted.load(std::memory_order_relaxed) == number_ &&
           number_ - pair().taken.load(std::memory_order_acquire) < kSendDepth;
  }
  bool is_taken() const { return pair().taken.load(std::memory_order_acquire) > number_; }

  std::shared_ptr<Comm> comm_;
  OpCall call_;
  uint64_t number_;
  bool posted_ = false;
};

class Receive final : public Operation {
 public:
  Receive(std::shared_ptr<Comm> comm, const OpCall& call)
      : comm_(std::move(comm)),
        call_(call),
        number_(comm_->next_receive[static_cast<size_t>(call.post.root)]++) {}

  bool can_advance() const override {
    return pair().posted.load(std::memory_order_acquire) > number_ &&
           pair().taken.load(std::memory_order_relaxed) == number_;
  }

  bool advance() override {
    if (!can_advance()) return false;
    const OpPost& sent = pair().slots[number_ % kSendDepth];
    if (sent.count != call_.post.count || sent.type != call_.post.type) {
      comm_->fail_everywhere(format("message %llu differs: rank %d issued %s, rank %d %s",
                                    static_cast<unsigned long long>(number_), call_.post.root,
                                    describe(sent).c_str(), comm_->rank,
                                    describe(call_.post).c_str()));
    }
    if (sent.count > 0) {
      memcpy(call_.receive, comm_->reach(sent.send), sent.count * size_of(sent.type));
    }
    pair().taken.store(number_ + 1, std::memory_order_release);
    comm_->area().ring();
    return true;
  }

 private:
  PairArea& pair() const { return comm_->area().pair[call_.post.root][comm_->rank]; }

  std::shared_ptr<Comm> comm_;
  OpCall call_;
  uint64_t number_;
};

}  // namespace

std::unique_ptr<Operation> make_point_to_point(const std::shared_ptr<Comm>& comm,
                                               const OpCall& call) {
  if (call.post.kind == OpKind::kSend) return std::make_unique<Send>(comm, call);
  return std::make_unique<Receive>(comm, call);
}

}  // namespace hirgen_cpu
