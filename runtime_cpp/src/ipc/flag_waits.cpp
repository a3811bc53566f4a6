#include "hirgen/flag_waits.hpp"

#include <algorithm>

namespace hirgen {

namespace {

// How far ahead of the newest call release() sets flags: by more calls than can be in flight, and
// by less than half of the range of a flag.
constexpr uint32_t kFarAhead = uint32_t{1} << 30;

}  // namespace

FlagWaits::FlagWaits(std::string name, std::string where, int64_t transfers, uint32_t* flags,
                     int64_t total, int64_t rows)
    : ready(static_cast<size_t>(transfers)),
      done(static_cast<size_t>(transfers)),
      name_(std::move(name)),
      where_(std::move(where)),
      total_(static_cast<size_t>(total)),
      rows_(static_cast<size_t>(rows)),
      flags_(flags) {}

void FlagWaits::begin_call(int64_t call, uint32_t sequence) {
  calls_[static_cast<size_t>(call) % calls_.size()] = static_cast<uint64_t>(call) << 32 | sequence;
  newest_ = sequence;
}

void FlagWaits::close() {
  const std::lock_guard lock(reading_);
  flags_ = nullptr;
}

std::vector<uint32_t> FlagWaits::read(cudaStream_t stream) {
  const std::lock_guard lock(reading_);
  std::vector<uint32_t> flags(total_);
  const size_t bytes = total_ * sizeof(uint32_t);
  if (flags_ == nullptr ||
      cudaMemcpyAsync(flags.data(), flags_, bytes, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
      cudaStreamSynchronize(stream) != cudaSuccess) {
    return {};
  }
  return flags;
}

void FlagWaits::release(cudaStream_t stream) {
  std::vector<uint32_t> flags = read(stream);
  if (flags.empty()) return;
  const uint32_t newest = counted_by_device_ ? flags.back() : newest_.load();
  const size_t awaited = ready.size() + done.size();
  std::fill_n(flags.begin(), awaited, newest + kFarAhead);
  const std::lock_guard lock(reading_);
  if (flags_ == nullptr) return;
  // If this fails, the device has failed, so no stream waits for flags.
  if (cudaMemcpyAsync(flags_, flags.data(), awaited * sizeof(uint32_t), cudaMemcpyHostToDevice,
                      stream) == cudaSuccess) {
    (void)cudaStreamSynchronize(stream);
  }
}

std::optional<uint32_t> FlagWaits::sequence(int64_t call,
                                            const std::vector<uint32_t>& flags) const {
  if (counted_by_device_) return flags.back();
  const uint64_t known = calls_[static_cast<size_t>(call) % calls_.size()];
  if (known >> 32 != static_cast<uint32_t>(call)) return std::nullopt;
  return static_cast<uint32_t>(known);
}

bool FlagWaits::missing(const Entry& entry, uint32_t sequence, uint32_t flag) const {
  const int64_t awaited = entry.awaited;
  if (awaited < 0 || entry.peer < 0) return false;
  // The host may not have issued this wait in the call yet.
  const bool issued =
      counted_by_device_ || static_cast<int32_t>(static_cast<uint32_t>(awaited) - sequence) >= 0;
  return issued && static_cast<int32_t>(flag - sequence) < 0;
}

}  // namespace hirgen
