#include "files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// What one write() call takes at most on Linux.
constexpr size_t kLargestWrite = size_t{1} << 30;

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw Error(Code::kEnvironment,
              std::string("cannot ") + what + " " + path + ": " + std::strerror(errno));
}

// An open file descriptor.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, next, std::min(size, kLargestWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool write_parts(const std::string& path, const std::vector<Bytes>& parts) {
  const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return false;
  for (const auto& [data, size] : parts) {
    if (!write_all(file.get(), data, size)) return false;
  }
  // A full disk may show only now.
  return fsync(file.get()) == 0 || errno == EINVAL;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) fail("read", path);
  size_ = static_cast<size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size_ == 0) {
    throw Error(Code::kEnvironment, "cannot read " + path + ": not a file, or empty");
  }
  void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) fail("read", path);
  data_ = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile() { munmap(const_cast<char*>(data_), size_); }

void write_file(const std::string& path, const std::vector<Bytes>& parts) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  if (write_parts(temporary, parts) && rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary.c_str());
  errno = error;
  fail("write", path);
}

}  // namespace hirgen
