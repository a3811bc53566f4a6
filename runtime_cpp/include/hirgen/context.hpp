// The resources with which one rank runs its programs: device, communicators, streams, events,
// cuBLASLt handle, rendezvous and watchdog.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen {

class AttentionBook;
class FlagWaits;
class PlanBook;
class Rendezvous;
class Watchdog;

/// How a rank joins the other ranks of its program. The driver and the C ABI fill it from the
/// launcher's environment variables, the command line or hirgen_options, and ProgramInfo.
struct ContextOptions {
  int rank = 0;
  int world = 1;
  int device = -1;      ///< CUDA device ordinal; -1: 0 if one GPU is visible, else local_rank
  int local_rank = -1;  ///< rank among the ranks of this node; -1: unknown
  std::string address;  ///< host of rank 0; unused when world is 1
  int port = 0;         ///< TCP port of rank 0; unused when world is 1
  std::string job;      ///< id of the launcher's job; rank 0 rejects ranks of other jobs
  std::string secret;   ///< known only to the ranks of this job; empty: none
  bool require_secret = false;  ///< an empty secret is an error if there are several ranks
  std::string meeting_hint;     ///< added to the error if ranks do not meet; may be empty
  double timeout_seconds = 60;  ///< deadline of every wait
  bool running_time = false;    ///< deadlines count at most 0.2 s of each stop of the process
  std::string program;          ///< name of the program
  std::string digest;           ///< ProgramInfo::digest: equal on every rank
  std::string parameters;       ///< of the spec, as "D=2 M=128"; shown if digests differ
  int mesh_size = 1;            ///< number of ranks that the program was generated for
  bool survives = false;        ///< a failure of any rank ends this process only if a call is stuck
  /// Called on another thread with the code and report of a failure, before this process ends or
  /// its calls return. The watchdog waits at most one second for it. May be empty.
  std::function<void(Code, const std::string&)> on_failure;
};

/// Memory and a stream that a program does not free after a failure, because work may use them
/// until all streams are idle. The context frees what it safely can.
struct Remains {
  std::vector<void*> opened;   ///< memory of peers that this process opened over CUDA IPC
  std::vector<void*> reached;  ///< memory that peers have opened; never freed
  cudaStream_t stream = nullptr;
};

/// Device memory that a program allocates, in bytes. The tensors of the caller do not count.
struct MemoryBytes {
  int64_t buffers = 0;     ///< tensors that only this rank accesses
  int64_t workspaces = 0;  ///< scratch memory of GEMMs and attentions
  int64_t ipc = 0;         ///< tensors and flags that other ranks access

  int64_t total() const { return buffers + workspaces + ipc; }
  MemoryBytes since(const MemoryBytes& before) const {
    return {buffers - before.buffers, workspaces - before.workspaces, ipc - before.ipc};
  }
};

/// A group of ranks, such as those along one mesh axis, with their communicator and its stream. On
/// a rank outside all teams, comm and stream are null, rank is -1 and size is 0.
struct Team {
  ncclComm_t comm = nullptr;      ///< null also for Context::bare_team()
  cudaStream_t stream = nullptr;  ///< highest priority: transfers start before GEMMs
  int rank = 0;                   ///< of this process, within the team
  int size = 1;
};

/// The counters with which Events finds out which events a call has recorded. `call` is the number
/// of the call that began last, from 1 (0: none). `uses` is the number of events recorded in all
/// calls.
struct EventClock {
  std::atomic<int64_t> call{0};
  std::atomic<uint64_t> uses{0};
  std::atomic<uint64_t> before{0};  ///< `uses` when the call began
};

/// The events of one statement, with the name and the spec position that the watchdog reports when
/// a call is stuck. Each of the last kCalls calls has its own events: a call must not record an
/// event again while an earlier, stuck call still waits for it.
class Events {
 public:
  static constexpr int64_t kCalls = 16;

  Events() = default;
  /// Returns the i-th event (from 0, without timing) of the call that the host is issuing. The
  /// first use of an event in a call records it, and later uses wait for it, so only the first use
  /// increments EventClock::uses.
  cudaEvent_t operator[](int64_t i) const {
    const auto index = static_cast<size_t>(slot(clock_->call) * set_->count + i);
    std::atomic<uint64_t>& use = set_->uses[index];
    if (use <= clock_->before) use = ++clock_->uses;
    return set_->events[index];
  }
  const std::string& name() const { return set_->name; }
  const std::string& where() const { return set_->where; }
  /// The number of events that the statement has in one call.
  int64_t size() const { return set_->count; }

  /// For DeviceMonitor: of_call() returns the i-th event of a call. use_in_call() returns the value
  /// of EventClock::uses when the host last recorded this event (0: never).
  cudaEvent_t of_call(int64_t call, int64_t i) const {
    return set_->events[static_cast<size_t>(slot(call) * set_->count + i)];
  }
  uint64_t use_in_call(int64_t call, int64_t i) const {
    return set_->uses[static_cast<size_t>(slot(call) * set_->count + i)];
  }

 private:
  friend class Context;
  struct Set {
    std::string name, where;
    int64_t count = 0;
    std::vector<cudaEvent_t> events;          // by call modulo kCalls, then by index
    std::vector<std::atomic<uint64_t>> uses;  // in the same order
  };
  static int64_t slot(int64_t call) { return call % kCalls; }

  std::shared_ptr<Set> set_;
  EventClock* clock_ = nullptr;  // owned by the context, which outlives its programs
};

/// One rank's resources. Not thread-safe: callers must not run member functions concurrently, and
/// the current device of their thread must be the context's device. Only failure() and
/// note_failure() may run at any time.
class Context {
 public:
  /// Opens the device, joins the rendezvous, checks that all ranks run the same program and, unless
  /// ranks may share a GPU (HIRGEN_SHARE_GPU=1), creates the communicator of all ranks. Throws
  /// Error.
  explicit Context(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int rank() const { return options_.rank; }
  int world() const { return options_.world; }
  const ContextOptions& options() const { return options_; }
  cublasLtHandle_t cublas() const { return cublas_; }
  Rendezvous& rendezvous() { return *rendezvous_; }
  Watchdog& watchdog() { return *watchdog_; }
  /// Returns the book of all GEMMs of the programs on this context, and of the algorithms chosen
  /// for them.
  PlanBook& plans() { return *plans_; }
  /// Returns the book of all attentions of the programs on this context, and of the implementations
  /// chosen for them.
  AttentionBook& attentions() { return *attentions_; }

  /// Returns the ranks whose memory programs on this context may access, including this rank. These
  /// are all ranks unless set_ipc_peers() was called. Every rank in the list must have the same
  /// list.
  const std::vector<int>& ipc_peers() const { return ipc_peers_; }
  void set_ipc_peers(std::vector<int> ranks) { ipc_peers_ = std::move(ranks); }

  /// Returns the team of these world ranks, in this order. Collective over the world: each rank
  /// passes the ranks of its own team, or an empty list if it is in none. Throws Error(kInternal)
  /// for a list without this rank.
  Team& team(const std::vector<int>& ranks, const char* where);
  /// Makes a team with a stream but no communicator, for libraries other than NCCL. Not collective.
  /// Takes the same list as team().
  Team& bare_team(const std::vector<int>& ranks, const char* where);

  /// Returns the compute stream with this index, which is created on first use and destroyed with
  /// the context. Non-blocking, lowest priority.
  cudaStream_t worker(int index);

  /// Names a stream for traces, and registers it with the watchdog. A stream without a name is
  /// called "stream".
  void name_stream(cudaStream_t stream, const std::string& name);
  /// Undoes name_stream(). Call this before you destroy a named stream that the context did not
  /// create.
  void forget_stream(cudaStream_t stream);
  std::string stream_name(cudaStream_t stream) const;

  /// Creates Events with `count` events per call for one statement.
  Events events(const char* name, const char* where, int64_t count);

  /// Allocates device memory that the context frees at its end; returns nullptr for zero bytes.
  /// `what` describes the memory in errors: position in the spec, and name. Throws
  /// Error(kEnvironment) if there is too little memory.
  void* allocate(size_t bytes, const std::string& what);
  /// Allocates `elements` elements of type T.
  template <typename T>
  T* allocate(int64_t elements, const std::string& what) {
    return static_cast<T*>(allocate(static_cast<size_t>(elements) * sizeof(T), what));
  }

  /// Takes ownership of the memory and the stream that a program does not free after a failure.
  void inherit(Remains remains);

  /// Allocates a workspace of GEMMs or attentions. Its bytes count in MemoryBytes::workspaces, not
  /// in MemoryBytes::buffers as those of allocate() do.
  void* workspace(size_t bytes, const std::string& what);
  /// Returns `scratch` if scratch_bytes >= bytes, and allocates a workspace otherwise. `scratch` is
  /// memory of the program that nothing else uses while the workspace is in use.
  void* workspace(size_t bytes, void* scratch, size_t scratch_bytes, const std::string& what);

  /// Returns the start of the allocation that contains the address, or the address itself if it is
  /// not in memory of allocate().
  void* allocation(void* buffer) const;
  /// Count memory in MemoryBytes::ipc, as accessed by other ranks. The first function counts the
  /// allocation that `buffer` points into, once even if it is called again. The second counts
  /// `bytes` bytes of memory that allocate() did not return.
  void reached(void* buffer);
  void reached(size_t bytes);
  /// All device memory counted so far.
  const MemoryBytes& memory() const { return memory_; }

  /// Registers the waits for flags of a shared buffer, so that the watchdog can report the flags
  /// that a stuck call waits for.
  void watch(std::shared_ptr<FlagWaits> waits);

  /// Tells the watchdog that the host begins to issue a call, or captures one into a graph of the
  /// application. run_call() calls this.
  void begin_call(bool captured);
  /// The number of the last call that was begun, counted from 1; 0 before the first call.
  int64_t call() const { return clock_.call; }

  /// Tells the watchdog that a call was issued on `caller`. Unless the call is captured, records an
  /// event there; the call must complete within the deadline. A call that is captured into a
  /// graph of the application counts as complete once all earlier calls are: the watchdog does not
  /// see when the application launches that graph. Every emitted run() ends with this.
  void call_issued(cudaStream_t caller);

  /// Blocks the host until `stream` is idle. Throws Error(kDevice) if the device fails, or
  /// Error(kTimeout) after the deadline, which restarts whenever a call completes. If a rank fails
  /// meanwhile, the watchdog ends the process; in a process that survives, this throws failure()
  /// instead.
  void synchronize(cudaStream_t stream);

  /// Records a failure of issued work. Any thread may call this. Later waits of this context throw
  /// Error(kDevice).
  void note_failure(const std::string& text);

  /// Blocks the host until all issued calls are complete, with the deadline of synchronize(). Does
  /// not throw: passes an error to fail(). After a failure, returns at once. The owner of a program
  /// calls this before it destroys the program.
  void finish();

  /// Tells the other ranks that this rank failed, so that they stop at once and report this rank.
  /// Returns when the ranks agree on the cause, after at most four seconds. The destructor then
  /// does not wait for calls, and frees device memory only in a process that survives. If another
  /// rank is at fault, the watchdog ends the process with kPeer, unless the process survives.
  void fail(const Error& error);
  /// The failure of this or another rank, with the report; nullopt if there is none.
  std::optional<Error> failure() const;
  /// Notes that issuing a call on `caller` failed, perhaps after part of its work was enqueued. In
  /// a process that survives, resources are freed only after that work has completed.
  void call_failed(cudaStream_t caller);
  /// Makes end() keep the communicators open. Used when CUDA graphs that contain NCCL calls still
  /// exist, because NCCL would wait for the end of the graphs.
  void keep_communicators();
  /// Does the work of the destructor and returns failure(). Afterwards, only the destructor may be
  /// called.
  std::optional<Error> end();

 private:
  void open_device_handles();
  void free_all();
  template <typename Done>
  void wait_until(Done done, const char* what);
  void wait_for_calls();
  void free_remains();
  ncclComm_t world_comm(const char* where);
  ncclComm_t split(const std::vector<int>& ranks, int position, const char* where);

  ContextOptions options_;
  std::vector<int> ipc_peers_;
  cublasLtHandle_t cublas_ = nullptr;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<PlanBook> plans_;
  std::unique_ptr<AttentionBook> attentions_;
  struct Resources;
  std::unique_ptr<Resources> resources_;
  EventClock clock_;
  bool captured_ = false;  // the application captures the current call into its own graph
  MemoryBytes memory_;
  /// A block of memory that allocate() returned. allocated_ maps start addresses to blocks.
  struct Allocated {
    int64_t bytes;
    bool reached;  ///< counted by reached()
  };
  std::map<void*, Allocated> allocated_;
};

/// Returns the size in bytes of a workspace that is large enough for each of the plans (MatmulPlan,
/// AttentionPlan, AttentionGradPlan), if they run one after another. May be 0.
template <typename... Plans>
size_t workspace_for(const Plans&... plans) {
  return std::max({plans.scratch_bytes()...});
}

}  // namespace hirgen
