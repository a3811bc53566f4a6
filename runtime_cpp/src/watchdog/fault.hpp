// Injected faults, to test the reaction of the other ranks. Off unless HIRGEN_FAULT is set:
//
//   HIRGEN_FAULT=kind:rank:call[:statement]
//
// The fault strikes rank `rank` in call `call` (the first call is 1), at its `statement`-th
// statement (HG_CHECK; default 1, the first). Unless the call is captured, earlier calls are
// complete then, so the ranks that communicate with this one have come as far. The process
//
//   kill    receives SIGKILL          segv   receives SIGSEGV
//   stop    receives SIGSTOP          exit   ends with status 0, without a goodbye
//   stall   sleeps forever in that statement, while its other threads go on
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace hirgen::fault {

enum class Kind { kNone, kKill, kStop, kSegv, kExit, kStall };

/// The fault that HIRGEN_FAULT describes.
struct Plan {
  Kind kind = Kind::kNone;
  int rank = 0;
  int64_t call = 1;
  int64_t statement = 1;
};

/// Reads "kind:rank:call[:statement]"; throws Error(kUsage) with the accepted form.
Plan parse(const std::string& text);

/// Arms HIRGEN_FAULT if it names this rank. Throws Error(kUsage) if it is malformed, or if its rank
/// is not in the world.
void arm_from_environment(int rank, int world);

/// Notes that the host starts to issue call `call`. Returns whether a fault of this rank is planned
/// for that call.
bool begin_call(int64_t call);

extern std::atomic<bool> armed;

/// Counts a statement of an armed process. The fault strikes at the planned statement.
void count_statement();

/// Counts a statement if a fault is armed for this rank. Otherwise costs one relaxed load.
inline void statement() {
  if (armed.load(std::memory_order_relaxed)) count_statement();
}

}  // namespace hirgen::fault
