// Faults on purpose, for tests of what the other ranks do. Off unless HIRGEN_FAULT is set:
//
//   HIRGEN_FAULT=kind:rank:call[:statement]
//
// In call `call` of rank `rank` (the first call is 1), at its `statement`-th checked
// statement (the first is 1, the default), once the calls before it are complete, so that
// the ranks that communicate with this one have come as far, the process
//
//   kill    receives SIGKILL          segv   receives SIGSEGV
//   stop    receives SIGSTOP          exit   ends with status 0, without a goodbye
//   stall   sleeps for ever in that statement, while its other threads live on
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace hirgen::fault {

enum class Kind { kNone, kKill, kStop, kSegv, kExit, kStall };

/// What HIRGEN_FAULT asks for.
struct Plan {
  Kind kind = Kind::kNone;
  int rank = 0;
  int64_t call = 1;
  int64_t statement = 1;
};

/// Reads "kind:rank:call[:statement]"; throws Error(kUsage) with the accepted form.
Plan parse(const std::string& text);

/// Arms HIRGEN_FAULT if it names this rank. Throws Error(kUsage) if it names none of the world's.
void arm_from_environment(int rank, int world);

/// The host starts to issue call `call`. Returns whether this process strikes in it.
bool begin_call(int64_t call);

extern std::atomic<bool> armed;

/// Counts a statement of an armed process, and strikes at the planned one.
void count_statement();

/// A statement was checked. Costs one relaxed load when nothing is armed.
inline void statement() {
  if (armed.load(std::memory_order_relaxed)) count_statement();
}

}  // namespace hirgen::fault
