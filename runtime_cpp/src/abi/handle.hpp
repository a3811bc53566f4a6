// The handles of the C ABI. They detect the use of a destroyed handle, and run calls from several
// threads one after another.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/callers_graphs.hpp"
#include "abi/staging.hpp"
#include "hirgen/c_api.h"
#include "hirgen/program.hpp"

namespace hirgen {

/// A program that a host program embeds. Without end(), the members are destroyed in reverse order:
/// the program before its context.
struct Embedded {
  std::unique_ptr<Context> context;
  bool capturable = false;  ///< ProgramInfo::graph: calls may be captured into graphs
  std::vector<TensorDesc> tensors;
  std::string transport;
  std::unique_ptr<Program> program;
  std::vector<void*> pointers;     ///< tensors of the last call, checked; empty before the first
  std::optional<Staging> staging;  ///< set if the program uses CUDA IPC on several ranks
  CallersGraphs graphs;

  /// Waits for the calls, then ends the program and the context. Returns the failure of this or
  /// another rank, if any.
  std::optional<Error> end();

 private:
  void leave_graphs();
};

}  // namespace hirgen

/// A handle is never freed, so no other handle gets its address and every use after destroy is
/// detected. It is tiny compared with a communicator.
struct hirgen_handle {
  std::mutex mutex;                            ///< held by the call that uses `embedded`
  std::unique_ptr<hirgen::Embedded> embedded;  ///< null once destroyed
  std::mutex error_mutex;
  std::string last_error;
};

namespace hirgen {

/// Makes a handle for a program. The registry of handles owns both.
hirgen_handle* add_handle(std::unique_ptr<Embedded> embedded);

/// Records that this process uses the device. Throws Error(kUsage) if the process was forked from
/// one that had already done so: in the child, CUDA does not work and a program's threads do not
/// exist.
void enter_process();

/// Returns the handle if this library made it, destroyed or not; else null. Also returns null in a
/// forked process, where the registry's lock may be held forever.
hirgen_handle* known_handle(const hirgen_handle* handle);

/// Locks a handle for one call, so that other calls on the handle wait. Makes the handle's device
/// the current device of the thread; the destructor restores the previous one. Throws
/// Error(kUsage) for a handle that is null, destroyed or from another library, and in a forked
/// process.
class HandleUse {
 public:
  explicit HandleUse(const hirgen_handle* handle);
  ~HandleUse();
  HandleUse(const HandleUse&) = delete;
  HandleUse& operator=(const HandleUse&) = delete;

  Embedded* operator->() const { return handle_->embedded.get(); }
  Embedded& operator*() const { return *handle_->embedded; }
  /// Ends the program and returns its error; from then on the handle counts as destroyed.
  std::optional<Error> destroy();

 private:
  hirgen_handle* handle_;
  std::unique_lock<std::mutex> lock_;
  int own_device_ = -1;  ///< the thread's previous device; -1: nothing to restore
};

}  // namespace hirgen
