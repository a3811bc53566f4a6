#include "watchdog/missing_flags.hpp"

#include <optional>
#include <set>

namespace hirgen {

void find_missing_flags(FlagWaits& waits, int64_t call, cudaStream_t stream,
                        std::vector<MissingFlags>* missing) {
  const std::vector<uint32_t> flags = waits.read(stream);
  if (flags.empty()) return;
  const std::optional<uint32_t> sequence = waits.sequence(call, flags);
  if (!sequence) return;
  size_t next = 0;
  for (const auto* entries : {&waits.ready, &waits.done}) {
    std::set<int64_t> ranks, rows;
    for (size_t i = 0; i < entries->size(); ++i) {
      const size_t row = i % waits.rows();
      const FlagWaits::Entry& entry = (*entries)[i - row];
      if (!waits.missing(entry, *sequence, flags[next++])) continue;
      ranks.insert(entry.peer);
      if (waits.rows() > 1) rows.insert(static_cast<int64_t>(row));
    }
    if (ranks.empty()) continue;
    missing->push_back({waits.name(),
                        waits.where(),
                        entries == &waits.done,
                        {ranks.begin(), ranks.end()},
                        {rows.begin(), rows.end()}});
  }
}

}  // namespace hirgen
