// Reads whole files, and writes files so that readers see all of it or nothing, where possible.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hirgen {

/// A file mapped for reading. Throws Error(kEnvironment) with path and reason, also if it is empty.
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

/// Part of a file's content: start and length.
using Bytes = std::pair<const void*, size_t>;

/// Writes the parts, in order, to a file next to `path` and renames it to `path`, so that no reader
/// sees half a file. Follows symbolic links. A path that is no regular file (a device, a FIFO), or
/// that is this process's standard output or error, is written in place. Throws Error(kEnvironment)
/// with path and reason, also if a FIFO has no reader for `seconds`. Then a regular file is
/// unchanged.
void write_file(const std::string& path, const std::vector<Bytes>& parts, double seconds = 60);

/// Prints to standard output, at once: the watchdog ends a process without flushing. Throws
/// Error(kEnvironment) with the reason if not all of it can be written.
void print(const std::string& text);

}  // namespace hirgen
