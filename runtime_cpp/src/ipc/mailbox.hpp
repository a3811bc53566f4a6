// The messages between ranks that share a buffer. All ranks together use the rendezvous. A subset
// of ranks cannot: the rendezvous goes through rank 0, which may not use the buffer. A subset sends
// its messages over NCCL's world communicator.
#pragma once

#include <string>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// The exchange of messages between the ranks that share a buffer, while they open it.
class Mailbox {
 public:
  /// `ranks` is the same list on each of them, and contains this rank. `where` is the spec
  /// position, a string that outlives the program.
  Mailbox(Context& context, const std::vector<int>& ranks, const char* where);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Collective over the ranks: returns `mine` of each, in their order, and blocks the host. `what`
  /// names the operation; throws Error(kInternal) if ranks pass different names. Over NCCL, a
  /// message, which is `what` and then `mine`, is cut to kMostBytes. Throws Error(kTimeout), or
  /// kPeer, if a rank does not come.
  std::vector<std::string> allgather(const std::string& mine, const std::string& what);

  static constexpr size_t kMostBytes = 1000;

 private:
  struct Letter;
  void pass(std::vector<Letter>* letters);

  Context& context_;
  const std::vector<int>& ranks_;
  const char* where_;
  Letter* letters_ = nullptr;  // device memory, one for each rank; null if not needed
  cudaStream_t stream_ = nullptr;
};

}  // namespace hirgen
