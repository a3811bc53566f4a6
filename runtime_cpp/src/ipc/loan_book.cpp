#include "hirgen/loan_book.hpp"

namespace hirgen {

LoanBook::LoanBook(std::string name, std::string where, int64_t transfers, const uint32_t* words,
                   int64_t total)
    : lends(static_cast<size_t>(transfers)),
      returns(static_cast<size_t>(transfers)),
      name_(std::move(name)),
      where_(std::move(where)),
      total_(static_cast<size_t>(total)),
      words_(words) {}

void LoanBook::begin_call(int64_t call, uint32_t number) {
  calls_[static_cast<size_t>(call) % calls_.size()] = static_cast<uint64_t>(call) << 32 | number;
}

void LoanBook::close() {
  const std::lock_guard lock(reading_);
  words_ = nullptr;
}

std::vector<uint32_t> LoanBook::read(cudaStream_t stream) {
  const std::lock_guard lock(reading_);
  std::vector<uint32_t> words(total_);
  const size_t bytes = total_ * sizeof(uint32_t);
  if (words_ == nullptr ||
      cudaMemcpyAsync(words.data(), words_, bytes, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
      cudaStreamSynchronize(stream) != cudaSuccess) {
    return {};
  }
  return words;
}

std::optional<uint32_t> LoanBook::number(int64_t call, const std::vector<uint32_t>& words) const {
  if (counted_by_device_) return words.back();
  const uint64_t known = calls_[static_cast<size_t>(call) % calls_.size()];
  if (known >> 32 != static_cast<uint32_t>(call)) return std::nullopt;
  return static_cast<uint32_t>(known);
}

bool LoanBook::missing(const Entry& entry, uint32_t number, uint32_t word) const {
  const int64_t awaited = entry.awaited;
  if (awaited < 0 || entry.peer < 0) return false;
  // The host may not have come to this wait yet.
  const bool issued =
      counted_by_device_ || static_cast<int32_t>(static_cast<uint32_t>(awaited) - number) >= 0;
  return issued && static_cast<int32_t>(word - number) < 0;
}

}  // namespace hirgen
