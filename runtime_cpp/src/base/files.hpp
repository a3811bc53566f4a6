// Files that are read whole and files that are written whole or not at all, where that can be.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hirgen {

/// A file mapped for reading. Throws Error(kEnvironment) with path and reason.
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

/// Writes the parts one after the other beside `path` and renames the result to it, so that nobody
/// sees half a file; symbolic links are followed. What is no regular file (a device, a FIFO), and
/// the file that this process's standard output or error goes to, is written in place. Throws
/// Error(kEnvironment) with path and reason, and leaves nothing behind; also when nobody reads a
/// FIFO for `seconds`.
void write_file(const std::string& path, const std::vector<Bytes>& parts, double seconds = 60);

}  // namespace hirgen
