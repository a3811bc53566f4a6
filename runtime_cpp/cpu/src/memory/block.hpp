// A block of memory that other processes can map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace hirgen_cpu {

/// The information with which another process maps a block: a file descriptor of a live process.
/// The block has no name in a file system, so a killed process leaves no file.
struct BlockAddress {
  pid_t pid = 0;
  int fd = -1;
  uint64_t inode = 0;  ///< detects a descriptor that was closed and reused
  uint64_t bytes = 0;
};

/// An anonymous file mapped into this process, followed by a page without access.
class Block {
 public:
  /// Returns a new block of zeros. Throws Failure(cudaErrorMemoryAllocation) if it cannot be
  /// allocated.
  static Block create(size_t bytes);
  /// Maps a block of another process. Throws Failure(cudaErrorMapBufferObjectFailed) if it cannot
  /// be opened or was freed, and Failure(cudaErrorMemoryAllocation) if it cannot be mapped.
  static Block open(const BlockAddress& address);
  Block(Block&& other) noexcept;
  Block& operator=(Block&&) = delete;
  ~Block();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// The size in bytes of the block's address range, including the page without access.
  size_t reserved() const { return reserved_; }
  BlockAddress address() const;

 private:
  Block(int fd, size_t bytes);
  int fd_;
  size_t bytes_;
  size_t reserved_;
  void* data_;
};

}  // namespace hirgen_cpu
