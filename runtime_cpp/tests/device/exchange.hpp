// Memory that ranks share in tests: data for each other, and the flags that order accesses to the
// data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flags.hpp"
#include "hirgen/transfers.hpp"

namespace device_test {

/// The shared memory of a case. Each rank has a source and a result for every rank, and the flags
/// of two transfers with every rank.
struct Exchange {
  Exchange(const Rank& of, size_t bytes) : rank(of), shard(bytes) {
    OK(cudaMalloc(&own, size()));
    OK(cudaMemset(own, 0, size()));
    if (start != 0) fill_flags(start);
    OK(cudaDeviceSynchronize());
    auto* handles = static_cast<cudaIpcMemHandle_t*>(rank.memory);
    OK(cudaIpcGetMemHandle(&handles[rank.rank], own));
    rank.barrier();
    for (int r = 0; r < rank.size; ++r) {
      void* mapped = own;
      if (r != rank.rank) {
        OK(cudaIpcOpenMemHandle(&mapped, handles[r], cudaIpcMemLazyEnablePeerAccess));
      }
      bases.push_back(static_cast<char*>(mapped));
    }
  }
  ~Exchange() {
    OK(cudaDeviceSynchronize());
    rank.barrier();
    for (char* base : bases) {
      if (base != own) OK(cudaIpcCloseMemHandle(base));
    }
    rank.barrier();
    OK(cudaFree(own));
  }
  /// The sequence number before the first call. Numbers wrap around to 0 in the eighth call.
  static constexpr uint32_t start = 0xFFFFFFF8;
  static constexpr size_t kFlagBytes = 4096;
  size_t slots() const { return static_cast<size_t>(rank.size); }
  size_t size() const { return kFlagBytes + 2 * slots() * shard; }
  void fill_flags(uint32_t value) {
    std::vector<uint32_t> flags(6 * slots(), value);
    for (size_t i = 0; i < slots(); ++i) flags[2 * slots() + i] = flags[5 * slots() + i] = 0;
    OK(cudaMemcpy(own, flags.data(), flags.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
  }
  /// The address of a flag of rank `of` for its transfers with `peer`. `which` is 0 (ready), 1
  /// (done) or 2 (block count) of the first transfer, or 3 to 5 of the second one.
  CUdeviceptr flag(int of, int which, int peer) const {
    return address(reinterpret_cast<uint32_t*>(bases[static_cast<size_t>(of)]) +
                   static_cast<size_t>(which) * slots() + static_cast<size_t>(peer));
  }
  char* source(int of, int to) const { return data(of) + static_cast<size_t>(to) * shard; }
  char* result(int of, int from) const {
    return data(of) + (slots() + static_cast<size_t>(from)) * shard;
  }
  char* data(int of) const { return bases[static_cast<size_t>(of)] + kFlagBytes; }
  hirgen::TransferFlags flags(int peer, hirgen::SequenceNumber sequence, int first = 0) const {
    return {flag(rank.rank, first, peer), flag(peer, first + 1, rank.rank),
            reinterpret_cast<uint32_t*>(flag(rank.rank, first + 2, peer)), sequence};
  }

  const Rank& rank;
  size_t shard;
  char* own = nullptr;
  std::vector<char*> bases;
};

/// Lets `group` write or await flag `which` of the transfers with all peers: in the peers' memory
/// if `of_peer`, else in this rank's.
template <class Group>
void flags_with_all(Group group, const Exchange& x, bool of_peer, int which,
                    hirgen::SequenceNumber sequence, cudaStream_t stream) {
  for (int step = 1; step < x.rank.size; ++step) {
    const int peer = (x.rank.rank + step) % x.rank.size;
    group.add(of_peer ? x.flag(peer, which, x.rank.rank) : x.flag(x.rank.rank, which, peer),
              sequence);
  }
  group.submit(stream, "flags");
}

}  // namespace device_test
