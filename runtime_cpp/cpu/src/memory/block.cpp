#include "memory/block.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hirgen_cpu {
namespace {

constexpr size_t kPage = 4096;

size_t round_to_page(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Maps the file, and reserves a page without access after it. Returns null on failure.
void* map(int fd, size_t bytes) {
  size_t size = round_to_page(bytes);
  void* start = mmap(nullptr, size + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  if (mmap(start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    munmap(start, size + kPage);
    return nullptr;
  }
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(static_cast<char*>(start) + bytes, size - bytes);
#endif
  return start;
}

uint64_t inode_of(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

Block::Block(int fd, size_t bytes)
    : fd_(fd), bytes_(bytes), reserved_(round_to_page(bytes) + kPage), data_(map(fd, bytes)) {
  if (data_ != nullptr) return;
  close(fd);
  throw Failure{cudaErrorMemoryAllocation, format("mapping %zu bytes: %s", bytes, strerror(errno))};
}

Block::Block(Block&& other) noexcept
    : fd_(other.fd_), bytes_(other.bytes_), reserved_(other.reserved_), data_(other.data_) {
  other.data_ = nullptr;
  other.fd_ = -1;
}

Block::~Block() {
  if (data_ == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(data_, reserved_ - kPage);
#endif
  munmap(data_, reserved_);
  close(fd_);
}

Block Block::create(size_t bytes) {
  int fd = memfd_create("hirgen-device-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(round_to_page(bytes))) != 0) {
    int reason = errno;
    if (fd >= 0) close(fd);
    throw Failure{cudaErrorMemoryAllocation, format("%zu bytes: %s", bytes, strerror(reason))};
  }
  return Block(fd, bytes);
}

Block Block::open(const BlockAddress& address) {
  std::string path = format("/proc/%d/fd/%d", address.pid, address.fd);
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    throw Failure{cudaErrorMapBufferObjectFailed,
                  format("memory of process %d: %s", address.pid, strerror(errno))};
  }
  if (inode_of(fd) != address.inode) {
    close(fd);
    throw Failure{cudaErrorMapBufferObjectFailed,
                  format("memory of process %d was freed", address.pid)};
  }
  return Block(fd, address.bytes);
}

BlockAddress Block::address() const { return {getpid(), fd_, inode_of(fd_), bytes_}; }

}  // namespace hirgen_cpu
