#include "ipc/transport.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "hirgen/error.hpp"
#include "ipc/peer_access.hpp"
#include "ipc/probe.hpp"

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
  return transport == (shares ? kIpc : kNccl) || (transport == kNccl && table.create_across_nodes);
}

// Throws Error(kUsage) unless all ranks request the same transport: with different variants they
// would wait for each other until the deadline.
void agree_on(Context& context, const std::string& transport) {
  const std::vector<std::string> all = context.rendezvous().allgather(transport, "transport");
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const auto& theirs) { return theirs != all[0]; });
  if (other == all.end()) return;
  throw Error(Code::kUsage,
              format("rank 0 is asked for transport %s, and rank %d for %s", all[0].c_str(),
                     static_cast<int>(other - all.begin()), other->c_str()));
}

// Returns the ranks that share memory with this rank, as `asked` requires or, for "auto", as a
// trial finds. If some ranks cannot share memory, rank 0 prints the reason.
IpcPeers ipc_peers(Context& context, const ProgramTable& table, const std::string& asked) {
  if (asked == kIpc) return {all_ranks(context), true, ""};
  if (asked == kNccl) return {{context.rank()}, false, ""};
  const std::vector<int> peers =
      table.sharers == nullptr ? all_ranks(context) : table.sharers(context);
  IpcPeers found = find_ipc_peers(context, peers, table.info.name.c_str());
  if (!found.obstacle.empty() && context.rank() == 0) {
    const char* name = table.info.name.c_str();
    const char* ipc = table.info.transport.c_str();
    const std::string over = found.anywhere ? format("%s within nodes and NCCL between them", ipc)
                                            : format("NCCL, not %s", ipc);
    std::fprintf(stderr, "hirgen: %s runs over %s: %s\n", name, over.c_str(),
                 found.obstacle.c_str());
  }
  return found;
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
  const std::string& ipc = table.info.transport;
  if (table.create_across_nodes == nullptr) return {table.create(context), ipc};
  agree_on(context, transport);
  const IpcPeers found = ipc_peers(context, table, transport);
  if (transport != kNccl && found.obstacle.empty()) return {table.create(context), ipc};
  context.set_ipc_peers(found.ranks);
  return {table.create_across_nodes(context),
          found.anywhere ? ipc + " within nodes, nccl between them" : kNccl};
}

}  // namespace hirgen
