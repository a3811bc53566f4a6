// How the ranks that share a buffer tell each other what that takes. All ranks meet in the
// rendezvous. A part of them cannot: it goes through rank 0, which may not know of a buffer that
// the others just came with. They send to each other over the communicator of the world.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// Where the ranks that share a buffer exchange messages, for as long as they open it.
class Mailbox {
 public:
  /// For `ranks`, which are the same list on each of them, with this rank. `where` is the spec
  /// position, a string that outlives the program.
  Mailbox(Context& context, const std::vector<int>& ranks, const char* where);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Collective over the ranks: `mine` of each, in their order; the host waits. `what` names the
  /// operation and is checked to be equal. Over NCCL a text is cut to kMostBytes, with `what`.
  /// Throws Error(kTimeout), or kPeer, if a rank does not come.
  std::vector<std::string> allgather(const std::string& mine, const std::string& what);

  static constexpr size_t kMostBytes = 1000;

 private:
  struct Letter;
  void pass(std::vector<Letter>* letters);

  Context& context_;
  const std::vector<int>& ranks_;
  const char* where_;
  Letter* letters_ = nullptr;  // device memory, one for each rank; null where it takes none
  cudaStream_t stream_ = nullptr;
};

}  // namespace hirgen
