#include "watchdog/progress.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text.hpp"

namespace hirgen {

namespace {

bool is_own_fault(const Failure& failure) {
  return failure.code != Code::kPeer && failure.code != Code::kTimeout;
}

// The key that orders ranks by the progress of their hosts: first by calls, then by the statements
// in a call.
auto host_order(const Progress& progress) {
  return std::tuple(progress.begun, progress.issued, progress.statements);
}

std::string where_it_stands(const Progress& progress) {
  if (progress.position.empty()) return "at its start";
  if (progress.begun > progress.issued) {
    return format("in call %ld at %s", static_cast<long>(progress.begun),
                  progress.position.c_str());
  }
  return format("after call %ld at %s", static_cast<long>(progress.issued),
                progress.position.c_str());
}

std::string last_heard(const RankView& view) {
  return "it was heard last " + seconds_text(view.silent_seconds) + " before, " +
         where_it_stands(view.progress);
}

std::string name(size_t rank) { return "rank " + std::to_string(rank); }

std::optional<Verdict> find_dead(const std::vector<RankView>& ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].died || ranks[rank].left) continue;
    return Verdict{
        static_cast<int>(rank), Code::kPeer,
        name(rank) + " died: its connection closed without a goodbye; " + last_heard(ranks[rank])};
  }
  return std::nullopt;
}

std::optional<Verdict> find_failed(const std::vector<Failure>& failures) {
  for (const Failure& failure : failures) {
    if (!is_own_fault(failure)) continue;
    return Verdict{failure.reporter, failure.code,
                   name(static_cast<size_t>(failure.reporter)) + " failed: " + failure.text};
  }
  return std::nullopt;
}

std::optional<Verdict> find_silent(const std::vector<RankView>& ranks, double limit) {
  std::optional<Verdict> verdict;
  double longest = limit;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankView& view = ranks[rank];
    if (view.left || view.silent_seconds < longest) continue;
    longest = view.silent_seconds;
    verdict = Verdict{static_cast<int>(rank), Code::kTimeout,
                      name(rank) + " stalled: it gives no sign of life; " + last_heard(view)};
  }
  return verdict;
}

std::optional<Verdict> find_suspected(const std::vector<Failure>& failures) {
  for (const Failure& failure : failures) {
    if (failure.suspect < 0 || failure.suspect == failure.reporter) continue;
    return Verdict{failure.suspect, Code::kTimeout, failure.text};
  }
  return std::nullopt;
}

std::optional<Verdict> find_last(const std::vector<RankView>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const auto behind = [&](size_t a, size_t b) {
    return host_order(ranks[a].progress) < host_order(ranks[b].progress);
  };
  size_t last = 0;
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    if (behind(rank, last)) last = rank;
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank != last && !behind(last, rank)) return std::nullopt;  // another rank is as far behind
  }
  const RankView& view = ranks[last];
  return Verdict{static_cast<int>(last), Code::kTimeout,
                 name(last) + (view.left ? " left " : " stalled: its host stands ") +
                     where_it_stands(view.progress) + " while all others are further"};
}

}  // namespace

double silence_limit(double timeout_seconds) { return std::max(1.0, timeout_seconds / 2); }

Verdict judge(const std::vector<RankView>& ranks, const std::vector<Failure>& failures,
              double timeout_seconds) {
  if (const auto verdict = find_dead(ranks)) return *verdict;
  if (const auto verdict = find_failed(failures)) return *verdict;
  // A failure is known already, so half the silence is enough for suspicion.
  auto verdict = find_silent(ranks, silence_limit(timeout_seconds) / 2);
  if (!verdict) verdict = find_suspected(failures);
  if (!verdict) verdict = find_last(ranks);
  if (!verdict) verdict = Verdict{-1, Code::kTimeout, "no rank is behind the others"};
  // Add the failure that was noticed first, unless the verdict has the same text.
  if (!failures.empty() && failures.front().text != verdict->text) {
    verdict->text += "; noticed first: " + failures.front().text;
  }
  return *verdict;
}

Code exit_code(const Verdict& verdict, int rank) {
  if (verdict.culprit == rank || verdict.culprit < 0) return verdict.code;
  return Code::kPeer;
}

}  // namespace hirgen
