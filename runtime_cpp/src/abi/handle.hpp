// What the C ABI's handles point to, and who may use them: a handle that was destroyed is found
// out, and calls from several threads come one after another.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hirgen/c_api.h"
#include "hirgen/program.hpp"

namespace hirgen {

/// A program that a host program embeds.
struct Embedded {
  std::unique_ptr<Context> context;
  std::vector<TensorDesc> tensors;
  std::string transport;
  std::unique_ptr<Program> program;
  std::vector<void*> pointers;  ///< of the last call: the device is known to reach them

  /// When its calls are complete ends the program, then the context; returns what failed before or
  /// meanwhile. Without it, as where create fails, members go in reverse order.
  std::optional<Error> end();
};

}  // namespace hirgen

/// A handle outlives its program, for as long as the process: its address is never another's, so
/// that a use after destroy is always found out. It is next to nothing beside a communicator.
struct hirgen_handle {
  std::mutex mutex;                            ///< held by the call that uses `embedded`
  std::unique_ptr<hirgen::Embedded> embedded;  ///< null once destroyed
  std::mutex error_mutex;
  std::string last_error;
};

namespace hirgen {

/// A new handle on a program.
hirgen_handle* add_handle(std::unique_ptr<Embedded> embedded);

/// The handle itself if this library made it, destroyed or not; else null.
hirgen_handle* known_handle(const hirgen_handle* handle);

/// The use of a handle by one call: other threads wait, and the device is the handle's, whatever
/// the thread's own was. Throws Error(kUsage) for a handle that is null, destroyed or foreign.
class HandleUse {
 public:
  explicit HandleUse(const hirgen_handle* handle);
  ~HandleUse();
  HandleUse(const HandleUse&) = delete;
  HandleUse& operator=(const HandleUse&) = delete;

  Embedded* operator->() const { return handle_->embedded.get(); }
  Embedded& operator*() const { return *handle_->embedded; }
  /// Ends the program, and returns what failed; the handle is destroyed from now on.
  std::optional<Error> destroy();

 private:
  hirgen_handle* handle_;
  std::unique_lock<std::mutex> lock_;
  int own_device_ = -1;  ///< of the thread; -1: the handle's
};

}  // namespace hirgen
