#include "stream/memop_task.hpp"

#include <cuda.h>

#include <atomic>
#include <type_traits>

#include "core/annotate.hpp"
#include "core/error.hpp"
#include "memory/memory.hpp"
#include "stream/futex.hpp"

namespace hirgen_cpu {
namespace {

template <class T>
bool reached(const void* address, T value, unsigned flags) {
  T word = static_cast<const std::atomic<T>*>(address)->load(std::memory_order_acquire);
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<T>>(word - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    default:
      return static_cast<T>(~(word | value)) != 0;
  }
}

uint64_t value_of(const MemOp& op) { return op.value + (op.counter ? *op.counter : 0); }

/// Returns whether the word ends the wait. Copies may write the word without atomic operations, and
/// the sanitizer must not report a race of this read with them.
bool satisfied(const MemOp& op) {
  Unobserved unobserved;
  return op.bytes == 4 ? reached(op.address, static_cast<uint32_t>(value_of(op)), op.flags)
                       : reached(op.address, op.value, op.flags);
}

/// Returns the low 4 bytes of a word, on which waiting threads sleep, because a futex has 4 bytes.
/// If only the high 4 bytes change just before a thread falls asleep, the thread may sleep for
/// kIdlePoll (worker.cpp) before it reads the word again.
std::atomic<uint32_t>* low_half(void* address) {
  return static_cast<std::atomic<uint32_t>*>(address);
}

void write(const MemOp& op) {
  ordered_before(op.address);
  if (op.bytes == 4) {
    low_half(op.address)->store(static_cast<uint32_t>(value_of(op)), std::memory_order_release);
  } else {
    static_cast<std::atomic<uint64_t>*>(op.address)->store(op.value, std::memory_order_release);
  }
  futex_wake(low_half(op.address));
}

}  // namespace

void check_op(const MemOp& op) {
  require(reinterpret_cast<uintptr_t>(op.address) % op.bytes == 0, "the address is not aligned");
  require_device_memory(op.address, op.bytes, "memory word");
  if (op.wait ? op.flags > CU_STREAM_WAIT_VALUE_NOR : op.flags != CU_STREAM_WRITE_VALUE_DEFAULT) {
    throw Failure{cudaErrorNotSupported, "unknown flags"};
  }
  if (op.counter) require_device_memory(op.counter, sizeof(*op.counter), "counter");
}

bool MemOpTask::ready() const { return !ops_[next_].wait || satisfied(ops_[next_]); }

WaitHint MemOpTask::hint() const {
  if (!ops_[next_].wait) return {};
  auto* word = low_half(ops_[next_].address);
  return {word, word->load(std::memory_order_acquire)};
}

bool MemOpTask::step() {
  for (; next_ < ops_.size(); ++next_) {
    if (!ops_[next_].wait) {
      write(ops_[next_]);
    } else if (satisfied(ops_[next_])) {
      ordered_after(ops_[next_].address);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace hirgen_cpu
