// Maps files for reading, and replaces regular files so that readers see the old or the new
// content.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hirgen {

/// A regular file mapped for reading. The constructor throws Error(kEnvironment) with path and
/// reason if the file cannot be read, is not regular, or is empty.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

/// Part of a file's content: its address in memory, and its length in bytes.
using Bytes = std::pair<const void*, size_t>;

/// Writes the parts, in order, to a file next to `path` and renames it to `path`, so that no reader
/// sees half a file. Follows symbolic links. If `path` is not a regular file (a device, a FIFO), or
/// is this process's standard output or error, writes in place. Throws Error(kEnvironment) with
/// path and reason, also if a FIFO's reader does not take the data within `seconds`; a file to be
/// replaced is then unchanged.
void write_file(const std::string& path, const std::vector<Bytes>& parts, double seconds = 60);

/// Prints to standard output and flushes it, because the watchdog ends a process by _exit(). Throws
/// Error(kEnvironment) with the reason if the text cannot be written.
void print(const std::string& text);

}  // namespace hirgen
