#include "watchdog/missing_loans.hpp"

#include <optional>
#include <set>

namespace hirgen {

void find_missing_loans(LoanBook& book, int64_t call, cudaStream_t stream,
                        std::vector<MissingLoan>* missing) {
  const std::vector<uint32_t> words = book.read(stream);
  if (words.empty()) return;
  const std::optional<uint32_t> number = book.number(call, words);
  if (!number) return;
  size_t word = 0;
  for (const auto* entries : {&book.lends, &book.returns}) {
    std::set<int64_t> ranks;
    for (const LoanBook::Entry& entry : *entries) {
      if (book.missing(entry, *number, words[word++])) ranks.insert(entry.peer);
    }
    if (ranks.empty()) continue;
    missing->push_back(
        {book.name(), book.where(), entries == &book.returns, {ranks.begin(), ranks.end()}});
  }
}

}  // namespace hirgen
