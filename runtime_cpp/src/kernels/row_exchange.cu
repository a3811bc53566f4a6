#include "hirgen/error.hpp"
#include "hirgen/row_exchange.hpp"

namespace hirgen {

namespace {

struct Nothing {
  HG_HOST_DEVICE void operator()(int64_t /*i*/) const {}
};

}  // namespace

RowExchange::Peer& RowExchange::peer_of(int64_t transfer) {
  if (transfer < 1 || transfer > kMostPeers) {
    throw Error(Code::kInternal, std::string(shared_->name()) + ": a kernel exchanges parts with " +
                                     std::to_string(transfer) + " ranks, and at most " +
                                     std::to_string(kMostPeers) + " are possible");
  }
  list_.peers = std::max(list_.peers, static_cast<int>(transfer));
  return list_.peer[transfer - 1];
}

void RowExchange::announce(int64_t peer, int64_t transfer) {
  Peer& from = peer_of(transfer);
  from.ready_there = shared_->ready_at(peer, flag_of(transfer));
  from.ready_here = shared_->ready(flag_of(transfer));
}

void RowExchange::send(void* out, const void* part, int64_t peer, int64_t transfer) {
  Peer& to = peer_of(transfer);
  to.copy = {out, part};
  to.done_there = shared_->done_at(peer, flag_of(transfer));
}

void RowExchange::run(cudaStream_t stream, const char* where) const {
#ifdef __CUDACC__
  constexpr int kThreads = 256;
  launch<kThreads, 1>(list_, list_.rows, Nothing{}, Nothing{}, stream, where);
#else
  submit(stream, where);
#endif
}

void RowExchange::submit(cudaStream_t stream, const char* where, size_t inbox) const {
  const size_t bytes = static_cast<size_t>(list_.rows) * list_.row_bytes;
  if (list_.sequence.counter != nullptr) {
    launch_counts({const_cast<uint32_t*>(list_.sequence.counter)}, stream, shared_->where());
  }
  FlagKernel ready(FlagUse::kWrite), sent(FlagUse::kWrite);
  FlagKernel may_send(FlagUse::kWait), received(FlagUse::kWait);
  for (int p = 0; p < list_.peers; ++p) {
    const Peer& peer = list_.peer[p];
    ready.add(peer.ready_there, list_.sequence);
    may_send.add(peer.ready_here, list_.sequence);
    sent.add(peer.done_there, list_.sequence);
    received.add(peer.done_here, list_.sequence);
  }
  const auto run = [&](const Copy& copy) {
    char* out = static_cast<char*>(copy.out) + inbox;
    HG_CHECK(cudaMemcpyAsync(out, copy.part, bytes, cudaMemcpyDeviceToDevice, stream), where);
  };
  ready.submit(stream, where);
  may_send.submit(stream, where);
  for (int p = 0; p < list_.peers; ++p) run(list_.peer[p].copy);
  sent.submit(stream, where);
  if (list_.own.out != nullptr) run(list_.own);
  received.submit(stream, where);
}

}  // namespace hirgen
