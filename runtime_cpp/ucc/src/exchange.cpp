#include "exchange.hpp"

#include <algorithm>

#include "bootstrap/wire.hpp"

namespace hirgen {

ucc_oob_coll_t UccExchange::callbacks() {
  ucc_oob_coll_t calls{};
  calls.allgather = begin;
  calls.req_test = test;
  calls.req_free = release;
  calls.coll_info = this;
  calls.n_oob_eps = static_cast<uint32_t>(ranks_.size());
  calls.oob_ep = static_cast<uint32_t>(position_);
  return calls;
}

ucc_status_t UccExchange::begin(void* mine, void* all, size_t bytes, void* self, void** request) {
  auto& exchange = *static_cast<UccExchange*>(self);
  if (exchange.pending_) return UCC_ERR_NO_RESOURCE;  // another exchange runs
  exchange.mine_.assign(static_cast<const char*>(mine), bytes);
  exchange.all_ = static_cast<char*>(all);
  exchange.pending_ = true;
  *request = self;
  return UCC_OK;
}

ucc_status_t UccExchange::test(void* self) {
  auto& exchange = *static_cast<UccExchange*>(self);
  try {
    if (exchange.pending_ && exchange.waits_) exchange.round(false);
  } catch (...) {
    exchange.error_ = std::current_exception();
    return UCC_ERR_NO_MESSAGE;
  }
  return exchange.pending_ ? UCC_INPROGRESS : UCC_OK;
}

ucc_status_t UccExchange::release(void* /*self*/) { return UCC_OK; }

bool UccExchange::round(bool finished) {
  Writer mine;
  mine.put(finished).put(pending_);
  if (pending_) mine.put(mine_);
  bool all_finished = true;
  std::vector<std::string> offers;
  for (const std::string& message : rendezvous_.allgather(mine.bytes(), "UCC's addresses")) {
    Reader reader(message);
    all_finished = reader.get<bool>() && all_finished;
    offers.push_back(reader.get<bool>() ? reader.get_text() : std::string());
  }
  if (pending_) deliver(offers);
  return all_finished;
}

// Copies the data to UCC's buffer and ends the allgather if all ranks of the team offer data. Data
// is never empty, so an empty offer means that the rank has not begun its allgather. All ranks of a
// team offer the same number of bytes.
void UccExchange::deliver(const std::vector<std::string>& offers) {
  for (int rank : ranks_) {
    if (offers[static_cast<size_t>(rank)].empty()) return;
  }
  char* next = all_;
  for (int rank : ranks_) {
    const std::string& offer = offers[static_cast<size_t>(rank)];
    next = std::copy_n(offer.begin(), std::min(offer.size(), mine_.size()), next);
  }
  pending_ = false;
}

void UccExchange::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

}  // namespace hirgen
