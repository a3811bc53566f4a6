#include "transport.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hirgen/error.hpp"
#include "ipc_probe.hpp"
#include "ipc_reach.hpp"
#include "rendezvous.hpp"
#include "text.hpp"

namespace hirgen {

namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kIpc = "ipc";
constexpr const char* kNccl = "nccl";

std::string wanted(const std::string& asked) {
  const char* variable = std::getenv("HIRGEN_TRANSPORT");
  if (!asked.empty() || variable == nullptr || *variable == '\0') {
    return asked.empty() ? kAuto : asked;
  }
  check_transport("HIRGEN_TRANSPORT", variable);
  return variable;
}

bool has(const ProgramTable& table, const std::string& transport) {
  const bool shares = table.info.transport.starts_with(kIpc);
  return transport == (shares ? kIpc : kNccl) || (transport == kNccl && table.create_over_nccl);
}

// Ranks that decide differently would wait for each other until the deadline.
void agree_on(Context& context, const std::string& transport) {
  const std::vector<std::string> all = context.rendezvous().allgather(transport, "transport");
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const auto& theirs) { return theirs != all[0]; });
  if (other == all.end()) return;
  throw Error(Code::kUsage,
              format("rank 0 is asked for transport %s, and rank %d for %s", all[0].c_str(),
                     static_cast<int>(other - all.begin()), other->c_str()));
}

bool takes_ipc(Context& context, const ProgramTable& table, const std::string& asked) {
  if (asked != kAuto) return asked == kIpc;
  const std::vector<int> peers =
      table.sharers == nullptr ? all_ranks(context) : table.sharers(context);
  const std::string why = sharing_obstacle(context, peers, table.info.name.c_str());
  if (!why.empty() && context.rank() == 0) {
    std::fprintf(stderr, "hirgen: %s runs over NCCL, not %s: %s\n", table.info.name.c_str(),
                 table.info.transport.c_str(), why.c_str());
  }
  return why.empty();
}

}  // namespace

void check_transport(const std::string& source, const std::string& asked) {
  if (asked == kAuto || asked == kIpc || asked == kNccl) return;
  throw Error(Code::kUsage, source + " " + asked + ": expected auto, ipc or nccl");
}

MadeProgram make_program(Context& context, const ProgramTable& table, const std::string& asked) {
  const std::string transport = wanted(asked);
  if (transport != kAuto && !has(table, transport)) {
    throw Error(Code::kUsage,
                format("transport %s: the program was emitted for %s alone; write `transport: "
                       "auto` in the schedule, and emit it again",
                       transport.c_str(), table.info.transport.c_str()));
  }
  if (table.create_over_nccl == nullptr) return {table.create(context), table.info.transport};
  agree_on(context, transport);
  if (takes_ipc(context, table, transport)) return {table.create(context), table.info.transport};
  return {table.create_over_nccl(context), kNccl};
}

}  // namespace hirgen
