#include "log/accesses.hpp"

#include <algorithm>
#include <atomic>

#include "memory/memory.hpp"

namespace hirgen_cpu {
namespace {

/// An access that begins within or directly after one of this number of latest runs extends that
/// run. A kernel may alternate between several tensors, so the latest run alone would not suffice.
constexpr size_t kCompared = 8;

thread_local Accesses* current = nullptr;

[[maybe_unused]] void note(const void* at, size_t bytes, bool write) {
  if (current != nullptr) current->add(reinterpret_cast<uintptr_t>(at), bytes, write);
}

}  // namespace

Accesses::Accesses() { current = this; }
Accesses::~Accesses() { current = nullptr; }

void Accesses::add(uintptr_t at, size_t bytes, bool write) {
  std::vector<Run>& runs = runs_[write ? 1 : 0];
  for (size_t back = 1; back <= std::min(runs.size(), kCompared); ++back) {
    Run& run = runs[runs.size() - back];
    if (run.begin <= at && at <= run.end) {
      run.end = std::max(run.end, at + bytes);
      return;
    }
  }
  size_t& limit = merge_at_[write ? 1 : 0];
  if (runs.size() >= limit) {
    merge(runs);
    limit = std::max(limit, 2 * runs.size());
  }
  runs.push_back({at, at + bytes});
}

void Accesses::merge(std::vector<Run>& runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::vector<Run> merged;
  for (const Run& run : runs) {
    if (merged.empty() || merged.back().end < run.begin) {
      merged.push_back(run);
    } else {
      merged.back().end = std::max(merged.back().end, run.end);
    }
  }
  runs = std::move(merged);
}

std::vector<LoggedOperand> Accesses::operands() {
  current = nullptr;
  std::vector<LoggedOperand> operands;
  for (const bool write : {false, true}) {
    merge(runs_[write ? 1 : 0]);
    for (const Run& run : runs_[write ? 1 : 0]) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of an access.
      const void* at = reinterpret_cast<const void*>(run.begin);
      if (find_allocation(at)) operands.push_back(logged_run(at, write, 1, run.end - run.begin));
    }
  }
  return operands;
}

}  // namespace hirgen_cpu

// The functions that code compiled with -fsanitize=thread calls at each access, and in place of
// atomic operations. In a build with that sanitizer, the sanitizer defines them.
#if !defined(__SANITIZE_THREAD__)

// NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses): the names are the
// compiler's.
using hirgen_cpu::note;

#define HG_ACCESS(bytes)                                                  \
  void __tsan_read##bytes(void* at) { note(at, bytes, false); }           \
  void __tsan_write##bytes(void* at) { note(at, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* at) { note(at, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* at) { note(at, bytes, true); }

#define HG_MODIFY(bits, type, name)                                        \
  type __tsan_atomic##bits##_##name(type* at, type value, int /*order*/) { \
    note(at, sizeof(type), false);                                         \
    note(at, sizeof(type), true);                                          \
    return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                   \
  }

#define HG_EXCHANGE(bits, type, name, weak)                                               \
  int __tsan_atomic##bits##_compare_exchange_##name(type* at, type* expected, type value, \
                                                    int /*order*/, int /*otherwise*/) {   \
    note(at, sizeof(type), false);                                                        \
    note(at, sizeof(type), true);                                                         \
    return __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST,       \
                                       __ATOMIC_SEQ_CST);                                 \
  }

#define HG_ATOMIC(bits, type)                                                \
  type __tsan_atomic##bits##_load(const type* at, int /*order*/) {           \
    note(at, sizeof(type), false);                                           \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                            \
  }                                                                          \
  void __tsan_atomic##bits##_store(type* at, type value, int /*order*/) {    \
    note(at, sizeof(type), true);                                            \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                           \
  }                                                                          \
  type __tsan_atomic##bits##_exchange(type* at, type value, int /*order*/) { \
    note(at, sizeof(type), false);                                           \
    note(at, sizeof(type), true);                                            \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                 \
  }                                                                          \
  HG_MODIFY(bits, type, fetch_add)                                           \
  HG_MODIFY(bits, type, fetch_sub)                                           \
  HG_MODIFY(bits, type, fetch_and)                                           \
  HG_MODIFY(bits, type, fetch_or)                                            \
  HG_MODIFY(bits, type, fetch_xor)                                           \
  HG_EXCHANGE(bits, type, strong, false)                                     \
  HG_EXCHANGE(bits, type, weak, true)

extern "C" {
#pragma GCC visibility push(default)
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** at, void* /*table*/) { note(at, sizeof(void*), true); }
void __tsan_read_range(void* at, size_t bytes) { note(at, bytes, false); }
void __tsan_write_range(void* at, size_t bytes) { note(at, bytes, true); }
void __tsan_atomic_thread_fence(int /*order*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int /*order*/) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
HG_ACCESS(1)
HG_ACCESS(2)
HG_ACCESS(4)
HG_ACCESS(8)
HG_ACCESS(16)
HG_ATOMIC(8, uint8_t)
HG_ATOMIC(16, uint16_t)
HG_ATOMIC(32, uint32_t)
HG_ATOMIC(64, uint64_t)
#pragma GCC visibility pop
}
// NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses)

#endif
