#include "watchdog/fault.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen::fault {

std::atomic<bool> armed{false};

namespace {

Plan g_plan;
// Each thread counts separately: threads with different handles issue calls at the same time. They
// share the plan and `armed`.
thread_local int64_t g_call = 0;
thread_local int64_t g_statement = 0;

struct Name {
  const char* text;
  Kind kind;
};
constexpr Name kNames[] = {{"kill", Kind::kKill},
                           {"stop", Kind::kStop},
                           {"segv", Kind::kSegv},
                           {"exit", Kind::kExit},
                           {"stall", Kind::kStall}};

void strike(Kind kind) {
  switch (kind) {
    case Kind::kKill:
      raise(SIGKILL);
      break;
    case Kind::kStop:
      raise(SIGSTOP);
      break;
    case Kind::kSegv:
      // A sanitizer's handler would turn the fault into an ordinary exit.
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
      break;
    case Kind::kExit:
      _exit(0);
    case Kind::kStall:
      while (true) pause();
    case Kind::kNone:
      break;
  }
}

[[noreturn]] void reject(const std::string& text) {
  throw Error(Code::kUsage, "HIRGEN_FAULT=" + text +
                                ": expected kind:rank:call[:statement] with kind one of kill, "
                                "stop, segv, exit, stall, rank from 0, call and statement from 1");
}

}  // namespace

Plan parse(const std::string& text) {
  const std::vector<std::string> parts = split_text(text, ':');
  if (parts.size() < 3 || parts.size() > 4) reject(text);
  Plan plan;
  for (const Name& name : kNames) {
    if (parts[0] == name.text) plan.kind = name.kind;
  }
  const auto rank = parse_integer(parts[1]);
  const auto call = parse_integer(parts[2]);
  const auto statement = parse_integer(parts.size() == 4 ? parts[3] : "1");
  if (plan.kind == Kind::kNone || !rank || !call || !statement) reject(text);
  if (*rank < 0 || *rank > INT32_MAX || *call < 1 || *statement < 1) reject(text);
  plan.rank = static_cast<int>(*rank);
  plan.call = *call;
  plan.statement = *statement;
  return plan;
}

void arm_from_environment(int rank, int world) {
  const char* text = std::getenv("HIRGEN_FAULT");
  if (text == nullptr || *text == '\0') return;
  g_plan = parse(text);
  if (g_plan.rank >= world) {
    throw Error(Code::kUsage, format("HIRGEN_FAULT=%s: there is no rank %d, the last one is %d",
                                     text, g_plan.rank, world - 1));
  }
  armed.store(g_plan.rank == rank);
}

bool begin_call(int64_t call) {
  g_call = call;
  g_statement = 0;
  return armed.load(std::memory_order_relaxed) && call == g_plan.call;
}

void count_statement() {
  if (g_call != g_plan.call || ++g_statement != g_plan.statement) return;
  armed.store(false);
  strike(g_plan.kind);
}

}  // namespace hirgen::fault
