// Memory that the ranks of one host share through CUDA IPC, and the words that order its
// use. What the words mean is the emitted program's matter: it writes and awaits them on its
// streams (words.hpp, transfers.hpp), so the host waits for nothing once memory is shared.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/loan_book.hpp"
#include "hirgen/mesh.hpp"
#include "hirgen/transfers.hpp"
#include "hirgen/words.hpp"

namespace hirgen {

/// One buffer of every rank that shares it, as this process reaches it, and two words of each
/// of them for each transfer of a call. Words count calls, so they only ever grow (modulo 2^32).
/// Ranks are those of the world. A rank that is not among those that share has nothing here.
///
/// Who counts the calls is the same in all calls of a program: the host, or, in a CUDA graph, a
/// counter in device memory.
class Shared {
 public:
  /// The buffer of `rank`.
  template <typename T>
  T* of(int64_t rank) const {
    return static_cast<T*>(buffers_[static_cast<size_t>(rank)]);
  }
  /// Words of this rank: the peer of its i-th transfer lends it a buffer; has copied.
  CUdeviceptr lent(int64_t i) const { return awaited(loans_->lends, i, 0); }
  CUdeviceptr copied(int64_t i) const { return awaited(loans_->returns, i, transfers_); }
  /// The same words of `rank`, which this rank writes: "I lend you", "I have copied".
  CUdeviceptr lent_at(int64_t rank, int64_t i) const {
    loans_->returns[static_cast<size_t>(i)].peer = static_cast<int>(rank);
    return word(rank, i);
  }
  CUdeviceptr copied_at(int64_t rank, int64_t i) const {
    loans_->lends[static_cast<size_t>(i)].peer = static_cast<int>(rank);
    return word(rank, transfers_ + i);
  }
  /// The call under way, counted from 1: what its signals write, and wait for.
  uint32_t call() const { return call_; }
  /// The same for kernels, which also know a call that the device counts.
  CallNumber number() const { return {call_, counter_}; }
  /// The words of this rank's i-th transfer, in which it copies from or to memory of `peer`.
  Loan loan(int64_t peer, int64_t i) const {
    return {lent(i), copied_at(peer, i), pointer(word(rank_, 2 * transfers_ + i)), number()};
  }

 private:
  friend class Peers;
  /// What one rank has: a word lent, copied and blocks (see Loan) for each transfer, and the
  /// counter of calls.
  static int64_t words(int64_t transfers) { return 3 * transfers + 1; }
  CUdeviceptr word(int64_t rank, int64_t i) const {
    return words_[static_cast<size_t>(rank)] + static_cast<CUdeviceptr>(i) * sizeof(uint32_t);
  }
  // A word of this rank that it waits for. Who writes it is told by what this rank writes to: the
  // copier of a transfer returns what it was lent, and who lends gets it back.
  CUdeviceptr awaited(std::vector<LoanBook::Entry>& entries, int64_t i, int64_t first) const {
    entries[static_cast<size_t>(i)].awaited = call_;
    return word(rank_, first + i);
  }
  static uint32_t* pointer(CUdeviceptr word) {
    return reinterpret_cast<uint32_t*>(word);  // NOLINT(performance-no-int-to-ptr)
  }

  std::vector<void*> buffers_;      // by rank; null where this rank reaches nothing
  std::vector<CUdeviceptr> words_;  // alike
  int64_t transfers_ = 0;
  int64_t rank_ = 0;
  uint32_t call_ = 0;
  uint32_t* counter_ = nullptr;      // of the calls, where the device counts them
  std::shared_ptr<LoanBook> loans_;  // null on a rank that has nothing here
};

/// What a buffer is shared for, and by whom: the ranks along an axis of a mesh, or all.
struct SharedShape {
  size_t bytes;                ///< of one rank
  int64_t transfers;           ///< of a call, each with a pair of words
  const char* name;            ///< of the tensor
  const char* where;           ///< position in the spec; a string that outlives the program
  const Mesh* mesh = nullptr;  ///< null: all ranks share it
  int axis = 0;                ///< of the mesh
};

/// The neighbours (Context::neighbours) that this rank shares any of the buffers with, itself among
/// them; none on a rank that shares none. Without shapes all of them share everything.
std::vector<int> sharers(const Context& context, const std::vector<SharedShape>& shapes);

/// Everything that a program shares with its neighbours. Ranks share the same buffers in the same
/// order.
///
/// A buffer of the program is shared once, when the program is made. A buffer of the caller
/// is shared by the first call that has it: all ranks that share it must then come with one that
/// is new to them, and go on to change buffers in the same calls, as they would with CUDA graphs.
/// Other ranks take no part in that. Words belong to a buffer, so ranks that break this rule wait
/// for each other until the deadline, and never compute on the wrong buffer. The caller's buffer
/// must come from cudaMalloc, and stay allocated until the program is destroyed.
///
/// On a rank that is not among those of a shape, all of this does nothing.
class Peers {
 public:
  /// Collective over all ranks. `shapes` are all that will be shared; without them, all ranks
  /// share everything. Throws Error(kEnvironment), the same on every rank, if two ranks that
  /// share something cannot reach each other's memory, with the reason.
  Peers(Context& context, const char* where, const std::vector<SharedShape>& shapes = {});
  /// Collective over all ranks, unless one has failed: waits for all calls, lets every rank close
  /// what it has opened, then frees the words. The buffers may be freed afterwards.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// The stream that carries all copies of this rank, in the order of issue: copies at once
  /// share one link, and would all end late. Highest priority.
  cudaStream_t copies() const { return copies_; }
  /// Whether `rank` is a neighbour, so that this one can use what it shares.
  bool reaches(int64_t rank) const { return reaches_[static_cast<size_t>(rank)]; }
  const StreamMemory& memory() const { return memory_; }

  /// Shares `own`, of which `shape` speaks; collective over the ranks of the shape, the host
  /// waits.
  Shared& share(void* own, const SharedShape& shape);
  /// Begins a call with a buffer: shares it if it is new, and counts the call.
  const Shared& begin_call(const void* own, const SharedShape& shape);

  /// For a call that will be captured as a CUDA graph: shares the buffer if it is new, which a
  /// capture does not allow.
  void prepare(const void* own, const SharedShape& shape) { find(own, shape); }
  /// Begins a captured call with a prepared buffer: at each launch of the graph, a kernel on
  /// `stream` counts the call for the kernels that come after it.
  const Shared& begin_captured(const void* own, const SharedShape& shape, cudaStream_t stream);

 private:
  struct Entry;
  Shared& find(const void* own, const SharedShape& shape);
  void close();

  Context& context_;
  cudaStream_t copies_ = nullptr;
  StreamMemory memory_;
  std::vector<bool> reaches_;  // by rank
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<void*> opened_;  // as often as they were opened
  std::vector<void*> owned_;   // words of this rank
  int exceptions_;             // under way when this was made
};

}  // namespace hirgen
