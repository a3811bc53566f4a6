#include "ipc/mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"
#include "ipc/peer_access.hpp"

namespace hirgen {

// A message of a rank. All have the same size, since NCCL has no messages of unknown length.
struct Mailbox::Letter {
  uint64_t size;
  char bytes[kMostBytes];
};

Mailbox::Mailbox(Context& context, const std::vector<int>& ranks, const char* where)
    : context_(context), ranks_(ranks), where_(where) {
  if (ranks.size() == 1 || ranks.size() == static_cast<size_t>(context.world())) return;
  HG_CHECK(cudaMalloc(&letters_, ranks.size() * sizeof(Letter)), where);
  HG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), where);
}

// Frees nothing while an exception is in flight: messages may then be in flight, too.
Mailbox::~Mailbox() {
  if (letters_ == nullptr || std::uncaught_exceptions() > 0) return;
  static_cast<void>(cudaStreamDestroy(stream_));
  static_cast<void>(cudaFree(letters_));
}

std::vector<std::string> Mailbox::allgather(const std::string& mine, const std::string& what) {
  if (ranks_.size() == 1) return {mine};
  std::vector<std::string> all;
  if (letters_ == nullptr) {
    std::vector<std::string> world = context_.rendezvous().allgather(mine, what.c_str());
    for (const int rank : ranks_) all.push_back(std::move(world[static_cast<size_t>(rank)]));
    return all;
  }
  const std::string text = Writer().put(what).bytes() + mine;
  std::vector<Letter> letters(ranks_.size());
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i] != context_.rank()) continue;
    letters[i].size = std::min(text.size(), kMostBytes);
    std::memcpy(letters[i].bytes, text.data(), letters[i].size);
  }
  pass(&letters);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Reader reader(std::string(letters[i].bytes, std::min(letters[i].size, uint64_t{kMostBytes})));
    const std::string theirs = reader.get_text();
    if (theirs != what) {
      throw Error(Code::kInternal,
                  format("%s: rank %d is at '%s' where rank %d is at '%s'", where_, ranks_[i],
                         theirs.c_str(), context_.rank(), what.c_str()));
    }
    all.push_back(reader.rest());
  }
  return all;
}

// Sends this rank's message to the others and receives theirs.
void Mailbox::pass(std::vector<Letter>* letters) {
  ncclComm_t world = context_.team(all_ranks(context_), where_).comm;
  const size_t bytes = letters->size() * sizeof(Letter);
  HG_CHECK(cudaMemcpyAsync(letters_, letters->data(), bytes, cudaMemcpyHostToDevice, stream_),
           where_);
  const auto me = std::find(ranks_.begin(), ranks_.end(), context_.rank()) - ranks_.begin();
  HG_CHECK(ncclGroupStart(), where_);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i] == context_.rank()) continue;
    HG_CHECK(ncclSend(letters_ + me, sizeof(Letter), ncclInt8, ranks_[i], world, stream_), where_);
    HG_CHECK(ncclRecv(letters_ + i, sizeof(Letter), ncclInt8, ranks_[i], world, stream_), where_);
  }
  HG_CHECK(ncclGroupEnd(), where_);
  HG_CHECK(cudaMemcpyAsync(letters->data(), letters_, bytes, cudaMemcpyDeviceToHost, stream_),
           where_);
  context_.synchronize(stream_);
}

}  // namespace hirgen
