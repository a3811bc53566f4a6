// Which peers have not lent, or not returned, what a call needs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/loan_book.hpp"

namespace hirgen {

/// Ranks that have not lent a tensor that a call needs, or not returned it.
struct MissingLoan {
  std::string name;
  std::string where;
  bool returned = false;  ///< what is missing is the return
  std::vector<int64_t> ranks;
};

/// Adds what is missing in the buffer for call `call`, which is under way, to `missing`. Reads the
/// words on `stream`, and waits for that.
void find_missing_loans(LoanBook& book, int64_t call, cudaStream_t stream,
                        std::vector<MissingLoan>* missing);

}  // namespace hirgen
