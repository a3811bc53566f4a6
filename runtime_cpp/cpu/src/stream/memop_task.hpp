// Stream memory operations as a task on a stream: waits for words of memory, and writes of words.
// Other processes may map the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/task.hpp"

namespace hirgen_cpu {

/// One operation on a word of 4 or 8 bytes.
struct MemOp {
  bool wait;
  size_t bytes;
  void* address;
  uint64_t value;
  unsigned flags;                     ///< CU_STREAM_WAIT_VALUE_* of a wait; 0 for a write
  const uint32_t* counter = nullptr;  ///< if not null, *counter is added to a 4-byte `value`
};

/// Throws Failure if the address is unaligned, the address or the counter is not in memory of the
/// device, or the flags are unknown.
void check_op(const MemOp& op);

/// A batch of operations, executed in order.
class MemOpTask final : public Task {
 public:
  explicit MemOpTask(std::vector<MemOp> ops) : ops_(std::move(ops)) {}
  bool ready() const override;
  WaitHint hint() const override;
  bool step() override;

 private:
  std::vector<MemOp> ops_;
  size_t next_ = 0;
};

}  // namespace hirgen_cpu
