// A communicator as one rank sees it.
#pragma once

#include <nccl.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "memory/block.hpp"
#include "nccl/area.hpp"
#include "stream/scheduler.hpp"

namespace hirgen_cpu {

/// An error inside an NCCL call, which nccl_api() turns into the result of the call.
struct NcclFailure {
  ncclResult_t code;
  std::string text;
};

/// The state of a communicator. The handle and all queued operations own it together, so it can
/// outlive ncclCommAbort.
class Comm {
 public:
  Comm(int device, bool blocking) : device(device), blocking(blocking) {}
  ~Comm();

  const int device;
  const bool blocking;
  int rank = -1, size = 0;

  /// Joins the ranks of an area and waits for all of them. Throws NcclFailure if ranks disagree on
  /// the size, two have the same number or device, or the communicator is aborted. If `parent` was
  /// split to make this communicator, an abort of `parent` also ends the wait.
  void join(std::shared_ptr<Block> area, int rank, int size, const Comm* parent = nullptr);
  CommArea& area() const { return *static_cast<CommArea*>(area_->data()); }
  RankArea& mine() const { return area().rank[rank]; }

  /// Starts host-side work, which may wait for peers, in a separate thread. First waits until the
  /// previous work of run() has ended. Returns ncclInProgress, and status() returns the same until
  /// the work ends.
  ncclResult_t run(std::function<void()> work);
  /// Waits until the work of run() has ended.
  void settle();
  /// Returns the result of ncclCommGetAsyncError. In NCCL, this query also completes the last call
  /// of a non-blocking communicator, which two threads must not do at the same time. So only the
  /// thread that made a non-blocking communicator may query it. A query by another thread makes
  /// the communicator fail with ncclInvalidUsage. Any thread may query a blocking communicator.
  ncclResult_t ask();
  ncclResult_t status() const;
  std::string last_error() const;
  void fail(ncclResult_t code, const std::string& text);

  /// Blocks the host thread until done() returns true. Throws NcclFailure if the communicator is
  /// aborted.
  void wait_for_peers(const std::function<bool()>& done) const;

  void abort();
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }

  /// Reports a mismatch to every rank of the communicator, and throws it as a Failure.
  [[noreturn]] void fail_everywhere(const std::string& text);
  /// Throws Failure if a rank has reported a mismatch.
  void check_failed() const;
  bool failed() const { return area().failed.load(std::memory_order_acquire) == 2; }

  /// Makes `stream` wait for the communicator's last operation. Called before each operation, so
  /// that the operations of a communicator run in the order of issue, on any streams.
  void order_after_last(Stream& stream);
  void set_last(Stream& stream, uint64_t position);
  /// Blocks the host thread until all operations issued so far are complete.
  void drain();

  /// Returns an object that each graph with operations of this communicator must own.
  /// wait_for_graphs() counts its owners.
  std::shared_ptr<void> kept_by_graph() const { return graphs_; }
  /// Blocks the host thread until all graphs with operations of this communicator are destroyed, as
  /// NCCL does when it destroys or aborts a communicator.
  void wait_for_graphs() const;

  /// Returns the address of a peer's buffer in this process. Maps the buffer first if necessary.
  const char* reach(const BufferAddress& address);

  // Numbers of the next operations, from 0; advanced when an operation starts on its stream.
  uint64_t next_collective = 0;
  std::vector<uint64_t> next_send, next_receive;  ///< by peer
  uint64_t split_round = 0;                       ///< calls of ncclCommSplit so far

 private:
  void require_own_device() const;

  std::shared_ptr<Block> area_;
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;
  ncclResult_t status_ = ncclSuccess;
  std::string last_error_;
  std::mutex background_mutex_;  ///< guards background_: settle() may run in several threads
  std::thread background_;
  const std::thread::id maker_ = std::this_thread::get_id();
  const std::shared_ptr<int> graphs_ = std::make_shared<int>();
  std::shared_ptr<Stream> last_stream_;
  uint64_t last_position_ = 0;
  std::map<std::pair<pid_t, uint64_t>, std::unique_ptr<Block>> peers_;  ///< by pid and inode
};

/// Maps a communicator's memory. All ranks in one process share one mapping.
std::shared_ptr<Block> open_area(const BlockAddress& address);
/// Creates the memory of a communicator. The memory stays mapped until ranks of this process have
/// joined and all of them have left; if none joins, it is never unmapped.
std::shared_ptr<Block> create_area();

/// Runs the body of an NCCL call, and returns its result or the result for its failure.
ncclResult_t nccl_api(const char* name, const std::function<ncclResult_t()>& body);

/// Throws NcclFailure(ncclInvalidArgument) unless `condition`.
inline void nccl_require(bool condition, const char* text) {
  if (!condition) throw NcclFailure{ncclInvalidArgument, text};
}

/// Returns whether calls with this configuration block: `inherited` if the configuration is null or
/// does not set `blocking`.
bool is_blocking(const ncclConfig_t* config, bool inherited);

/// Throws NcclFailure if the configuration is not null and was not initialised.
void check_config(const ncclConfig_t* config);

/// Returns a new handle for a communicator.
ncclComm_t publish(const std::shared_ptr<Comm>& comm);

/// Starts host-side work of a communicator. For a blocking communicator, waits for the work and
/// returns its result; in an open group, returns ncclSuccess, and ncclGroupEnd waits. For a
/// non-blocking communicator, returns ncclInProgress.
ncclResult_t start(const std::shared_ptr<Comm>& comm, std::function<void()> work);

/// Returns the communicator of a live handle; throws NcclFailure(ncclInvalidArgument) for other
/// handles.
std::shared_ptr<Comm> comm_of(ncclComm_t handle);

/// Returns whether this thread has an open group, and if so, adds the communicator to the group.
/// Then ncclGroupEnd returns the communicator's status unless that status is ncclSuccess; for a
/// blocking communicator, ncclGroupEnd first waits for the work of run().
bool defer_to_group(const std::shared_ptr<Comm>& comm);

}  // namespace hirgen_cpu
