// What a rank waits for in a buffer that it shares, as its host has issued it. The words of the
// buffer say what has come; what a stuck call waits for is here and has not come.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hirgen/context.hpp"

namespace hirgen {

/// The loans of one buffer on one rank. Written by the thread that issues calls, read by the
/// watchdog's.
class LoanBook {
 public:
  /// A word of this rank. One that no statement waits for stays as it is here.
  struct Entry {
    std::atomic<int64_t> awaited{-1};  ///< the last number that was waited for; -1: none
    std::atomic<int> peer{-1};         ///< the rank that writes the word; -1: not known
  };

  /// `name` is that of the tensor, `where` the place in the spec. `words` are this rank's, in
  /// device memory: those of `lends`, those of `returns`, and `total` in all. The last one is the
  /// number of calls, where the device counts them.
  LoanBook(std::string name, std::string where, int64_t transfers, const uint32_t* words,
           int64_t total);

  /// Call `call` of the program is number `number` of the buffer.
  void begin_call(int64_t call, uint32_t number);
  /// The device counts the calls: numbers of entries and of calls mean nothing.
  void begin_captured() { counted_by_device_ = true; }
  /// The words are about to be freed. Waits for who reads them.
  void close();

  const std::string& name() const { return name_; }
  const std::string& where() const { return where_; }
  /// The words as the device has them now, by a copy on `stream`, which carries nothing else;
  /// waits for the device. None if they are freed, or the device has failed.
  std::vector<uint32_t> read(cudaStream_t stream);
  /// The number of `call`, which was begun before `words` were read. None if the call does not use
  /// the buffer, or is older than the last Events::kCalls.
  std::optional<uint32_t> number(int64_t call, const std::vector<uint32_t>& words) const;
  /// Whether what `entry` waits for in call `number` has not come to `word`.
  bool missing(const Entry& entry, uint32_t number, uint32_t word) const;

  std::vector<Entry> lends, returns;  ///< by transfer

 private:
  const std::string name_, where_;
  const size_t total_;
  std::mutex reading_;
  const uint32_t* words_;  // null once they are freed
  std::atomic<bool> counted_by_device_{false};
  // The call and its number, 32 bits each, by call modulo kCalls.
  std::array<std::atomic<uint64_t>, Events::kCalls> calls_{};
};

}  // namespace hirgen
