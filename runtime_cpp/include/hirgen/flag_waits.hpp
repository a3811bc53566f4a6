// Which flags of a shared buffer a rank waits for, as its host has issued the waits. The flags say
// which peers have set them; a stuck call waits for one that is noted here and not set.
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

/// The waits for the flags of one buffer on one rank. Written by the thread that issues calls, read
/// by the watchdog's.
class FlagWaits {
 public:
  /// A flag of this rank. One that no statement waits for stays as it is here.
  struct Entry {
    std::atomic<int64_t> awaited{-1};  ///< the last sequence number waited for; -1: none
    std::atomic<int> peer{-1};         ///< the rank that writes the flag; -1: not known
  };

  /// `name` is that of the tensor, `where` the position in the spec. `flags` are this rank's, in
  /// device memory: the ready flags, the done flags, and `total` words in all. The last one is the
  /// counter of calls, where the device counts them.
  FlagWaits(std::string name, std::string where, int64_t transfers, uint32_t* flags, int64_t total);

  /// Call `call` of the program has this sequence number of the buffer.
  void begin_call(int64_t call, uint32_t sequence);
  /// The device counts the calls: the numbers that the host noted mean nothing.
  void begin_captured() { counted_by_device_ = true; }
  /// The flags are about to be freed. Waits for who reads them.
  void close();

  const std::string& name() const { return name_; }
  const std::string& where() const { return where_; }
  /// The flags as the device has them now, by a copy on `stream`, which carries nothing else;
  /// waits for the device. None if they are freed, or the device has failed.
  std::vector<uint32_t> read(cudaStream_t stream);
  /// Sets all flags of this rank far ahead, by a copy on `stream`: nothing that is issued waits for
  /// a peer any more. A peer that lives may still set a flag back, so this is done again and again.
  void release(cudaStream_t stream);
  /// The sequence number of `call`, which was begun before `flags` were read. None if the call does
  /// not use the buffer, or is older than the last Events::kCalls.
  std::optional<uint32_t> sequence(int64_t call, const std::vector<uint32_t>& flags) const;
  /// Whether `flag` is behind `sequence`, which `entry` waits for.
  bool missing(const Entry& entry, uint32_t sequence, uint32_t flag) const;

  std::vector<Entry> ready, done;  ///< by transfer

 private:
  const std::string name_, where_;
  const size_t total_;
  std::mutex reading_;
  uint32_t* flags_;  // null once they are freed
  std::atomic<bool> counted_by_device_{false};
  std::atomic<uint32_t> newest_{0};  // sequence number that a call was begun with
  // The call and its sequence number, 32 bits each, by call modulo kCalls.
  std::array<std::atomic<uint64_t>, Events::kCalls> calls_{};
};

}  // namespace hirgen
