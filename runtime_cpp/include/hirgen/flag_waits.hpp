// Keeps a record of the flags of a shared buffer for which the host has issued waits. If a call is
// stuck, the watchdog finds out from this record which flags the call waits for and peers have not
// set.
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

/// The waits for the flags of one buffer on one rank. The thread that issues calls writes the
/// entries, and the thread of DeviceMonitor reads them.
class FlagWaits {
 public:
  /// The waits for one flag of this rank.
  struct Entry {
    /// The last sequence number waited for, 0 if the device counts the calls; -1: no wait yet.
    std::atomic<int64_t> awaited{-1};
    std::atomic<int> peer{-1};  ///< the rank that writes the flag; -1: not known yet
  };

  /// `name` is the name of the tensor, `where` its position in the spec. `flags` is this rank's
  /// device memory of `total` 32-bit words: first `transfers` ready flags, then as many done flags,
  /// and then other words. Of these, this class uses only the last word, which counts the calls if
  /// the device counts them. In a RowExchange, `rows` successive flags have one entry, the entry of
  /// the first.
  FlagWaits(std::string name, std::string where, int64_t transfers, uint32_t* flags, int64_t total,
            int64_t rows = 1);

  /// Notes that call number `call` of the context (Context::call) uses the buffer with this
  /// sequence number.
  void begin_call(int64_t call, uint32_t sequence);
  /// Notes that the device counts the calls, because they are captured in CUDA graphs. sequence()
  /// then reads the counter instead of the numbers of begin_call().
  void begin_captured() { counted_by_device_ = true; }
  /// Ends access to the flags; if another thread is reading them, waits for it first. Call this
  /// before you free the flags.
  void close();

  const std::string& name() const { return name_; }
  const std::string& where() const { return where_; }
  size_t rows() const { return rows_; }
  /// Copies the flags from the device on `stream`, which has no other work, and waits for the copy.
  /// Returns an empty vector after close(), or if the device has failed.
  std::vector<uint32_t> read(cudaStream_t stream);
  /// Sets all flags of this rank to a sequence number 2^30 ahead of the latest call, by a copy on
  /// `stream`, so that all issued waits end. A live peer may overwrite a flag with a smaller
  /// number, so callers repeat this.
  void release(cudaStream_t stream);
  /// Returns the sequence number of `call`, which began before read() returned `flags`; nullopt if
  /// the call does not use the buffer, or is older than the last Events::kCalls calls. If the
  /// device counts the calls, returns its counter for any `call`.
  std::optional<uint32_t> sequence(int64_t call, const std::vector<uint32_t>& flags) const;
  /// Returns whether the host has issued the wait of `entry` for `sequence`, and the value of one
  /// of its flags, `flag`, has not reached that number. Returns false if no statement waits for the
  /// flag, or if the rank that writes it is unknown.
  bool missing(const Entry& entry, uint32_t sequence, uint32_t flag) const;

  /// The waits for ready flags and for done flags, indexed by transfer; in a RowExchange, by
  /// transfer times rows().
  std::vector<Entry> ready, done;

 private:
  const std::string name_, where_;
  const size_t total_, rows_;
  std::mutex reading_;
  uint32_t* flags_;  // device memory; null after close()
  std::atomic<bool> counted_by_device_{false};
  std::atomic<uint32_t> newest_{0};  // the sequence number of the latest call
  // For each of the last kCalls calls, at index call modulo kCalls: the number of the call in the
  // upper 32 bits, and its sequence number in the lower 32 bits.
  std::array<std::atomic<uint64_t>, Events::kCalls> calls_{};
};

}  // namespace hirgen
