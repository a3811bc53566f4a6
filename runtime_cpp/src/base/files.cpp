#include "base/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/wait_ready.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// The most bytes to pass to one write(). Linux writes at most 0x7ffff000 bytes per call.
constexpr size_t kLargestWrite = size_t{1} << 30;

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw Error(Code::kEnvironment,
              std::string("cannot ") + what + " " + path + ": " + std::strerror(errno));
}

// Owns a file descriptor, and closes it unless it is negative.
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

bool write_all(int fd, const void* data, size_t size, Deadline deadline) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, next, std::min(size, kLargestWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN && wait_ready(fd, POLLOUT, deadline)) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool write_parts(int fd, const std::vector<Bytes>& parts, Deadline deadline) {
  return std::all_of(parts.begin(), parts.end(), [&](const Bytes& part) {
    return write_all(fd, part.first, part.second, deadline);
  });
}

// Writes a new file at `path`, after removing a file or link there.
bool write_new(const std::string& path, const std::vector<Bytes>& parts, Deadline deadline) {
  unlink(path.c_str());
  const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0 || !write_parts(file.get(), parts, deadline)) return false;
  // fsync() may be the first call to report a full disk. EINVAL: the file does not support fsync().
  return fsync(file.get()) == 0 || errno == EINVAL;
}

// Opens a FIFO or device for writing. Returns -1 on errors. If a FIFO has no reader, a blocking
// open could wait forever, and a non-blocking open fails with ENXIO. So this function opens without
// blocking, and tries again until the deadline (ETIMEDOUT).
int open_in_place(const std::string& path, Deadline deadline) {
  while (true) {
    const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 || errno != ENXIO) return fd;
    if (Clock::now() >= deadline) errno = ETIMEDOUT;
    if (errno == ETIMEDOUT) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Ignores SIGPIPE while the object exists: if the reader of a FIFO leaves, write() returns an error
// instead of ending the process.
class IgnoredPipeSignal {
 public:
  IgnoredPipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoredPipeSignal() { std::signal(SIGPIPE, before_); }
  IgnoredPipeSignal(const IgnoredPipeSignal&) = delete;
  IgnoredPipeSignal& operator=(const IgnoredPipeSignal&) = delete;

 private:
  void (*before_)(int);
};

bool write_in_place(int fd, const std::vector<Bytes>& parts, Deadline deadline) {
  const IgnoredPipeSignal ignored;
  return fd >= 0 && write_parts(fd, parts, deadline);
}

// Returns the descriptor of standard output or error if `target` is the same file, else -1.
int own_stream(const struct stat& target) {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own{};
    if (fstat(fd, &own) == 0 && own.st_dev == target.st_dev && own.st_ino == target.st_ino) {
      return fd;
    }
  }
  return -1;
}

// Returns the path at the end of a chain of symbolic links, whether or not it exists. Throws after
// 40 links.
std::string follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::string name = path;
  for (int i = 0; i < kMostLinks; ++i) {
    char bytes[PATH_MAX];
    const ssize_t size = readlink(name.c_str(), bytes, sizeof(bytes));
    if (size < 0) return name;
    const std::string next(bytes, static_cast<size_t>(size));
    name.resize(next.starts_with('/') ? 0 : name.rfind('/') + 1);
    name += next;
  }
  errno = ELOOP;
  fail("write", path);
}

bool write_at(const std::string& path, const std::vector<Bytes>& parts, Deadline deadline) {
  struct stat target{};
  if (stat(path.c_str(), &target) == 0) {
    if (const int fd = own_stream(target); fd >= 0) return write_in_place(fd, parts, deadline);
    if (!S_ISREG(target.st_mode)) {
      const File file(open_in_place(path, deadline));
      return write_in_place(file.get(), parts, deadline);
    }
  }
  const std::string name = follow_links(path);
  const std::string temporary = name + ".tmp." + std::to_string(getpid());
  if (write_new(temporary, parts, deadline) && rename(temporary.c_str(), name.c_str()) == 0) {
    return true;
  }
  const int error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
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

void write_file(const std::string& path, const std::vector<Bytes>& parts, double seconds) {
  if (write_at(path, parts, after(seconds))) return;
  if (errno == ETIMEDOUT) {
    throw Error(Code::kEnvironment,
                "cannot write " + path + ": nobody reads it for " + seconds_text(seconds));
  }
  fail("write", path);
}

void print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) fail("write to", "standard output");
}

}  // namespace hirgen
