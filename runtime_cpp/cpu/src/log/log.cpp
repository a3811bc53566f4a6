#include "log/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "core/device.hpp"
#include "core/error.hpp"
#include "memory/memory.hpp"
#include "stream/stream.hpp"

namespace hirgen_cpu {
namespace {

/// The descriptor of this process's log; -1 if HIRGEN_CPU_LOG is unset or empty, or the file
/// cannot be opened.
int log_file() {
  static const int file = [] {
    const char* prefix = getenv("HIRGEN_CPU_LOG");
    if (prefix == nullptr || *prefix == '\0') return -1;
    const std::string path = format("%s.%d", prefix, getpid());
    return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }();
  return file;
}

/// The label of this thread's allocations and calls (but not kernels): see hirgen_cpu_label().
std::string& thread_label() {
  static thread_local std::string label;
  return label;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += format("%s%lld", text.empty() ? "" : ",", static_cast<long long>(number));
  }
  return "[" + text + "]";
}

/// Appends a line with a single write(): threads share the file, and a process may end without
/// flushing. Throws Failure if the write fails.
void write_line(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(log_file(), whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw Failure{cudaErrorOperatingSystem, "the log cannot be written"};
  }
}

/// Returns the number of an allocation, which is the same in all processes that map it. Returns 0
/// for null, which means host memory that CUDA did not allocate.
unsigned long long number_of(const Allocation* allocation) {
  return allocation == nullptr ? 0 : allocation->block.address().inode;
}

std::string describe(const LoggedOperand& operand) {
  const std::shared_ptr<const Allocation> allocation = find_allocation(operand.at);
  const auto* base = allocation ? static_cast<const char*>(allocation->block.data()) : nullptr;
  const auto offset = base == nullptr ? 0 : static_cast<const char*>(operand.at) - base;
  return format(R"({"memory":%llu,"write":%s,"at":%lld,"size":%zu,"extents":%s,"strides":%s})",
                number_of(allocation.get()), operand.write ? "true" : "false",
                static_cast<long long>(offset), operand.size, list(operand.extents).c_str(),
                list(operand.strides).c_str());
}

}  // namespace

bool logging() { return log_file() >= 0; }

LoggedCall begin_logged(const char* kind, cudaStream_t stream, const char* label) {
  static std::atomic<uint64_t> calls{0};
  return {kind, label != nullptr ? label : thread_label(), current_device(), calls++,
          resolve(stream)->id};
}

void write_logged(const LoggedCall& call, const std::vector<LoggedOperand>& operands) {
  std::string all;
  for (const LoggedOperand& operand : operands) {
    all += (all.empty() ? "" : ",") + describe(operand);
  }
  write_line(format(R"({"device":%d,"call":%llu,"stream":%llu,"kind":"%s","label":%s,"operands":[)",
                    call.device, static_cast<unsigned long long>(call.number),
                    static_cast<unsigned long long>(call.stream), call.kind,
                    quoted(call.label).c_str()) +
             all + "]}");
}

void log_allocation(const void* base) {
  if (!logging()) return;
  const std::shared_ptr<const Allocation> allocation = find_allocation(base);
  write_line(format(R"({"device":%d,"memory":%llu,"bytes":%zu,"label":%s})", allocation->device,
                    number_of(allocation.get()), allocation->block.bytes(),
                    quoted(thread_label()).c_str()));
}

}  // namespace hirgen_cpu

void hirgen_cpu_label(const char* label) {
  if (hirgen_cpu::logging()) hirgen_cpu::thread_label() = label;
}
