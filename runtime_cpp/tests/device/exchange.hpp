// What ranks share in the tests of transfers and sums: data for each other, and the words that
// order its use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hirgen/transfers.hpp"
#include "words.hpp"

namespace device_test {

/// What the ranks of a case share: of each rank a source and a result for every other one, and
/// the words of two transfers with each.
struct Exchange {
  Exchange(const Rank& of, size_t bytes) : rank(of), slice(bytes) {
    OK(cudaMalloc(&own, size()));
    OK(cudaMemset(own, 0, size()));
    if (start != 0) fill_words(start);
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
  /// Of the numbers of calls: a few calls before they start again.
  static constexpr uint32_t start = 0xFFFFFFF8;
  static constexpr size_t kWordBytes = 4096;
  size_t slots() const { return static_cast<size_t>(rank.size); }
  size_t size() const { return kWordBytes + 2 * slots() * slice; }
  void fill_words(uint32_t value) {
    std::vector<uint32_t> words(6 * slots(), value);
    for (size_t i = 0; i < slots(); ++i) words[2 * slots() + i] = words[5 * slots() + i] = 0;
    OK(cudaMemcpy(own, words.data(), words.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
  }
  /// Words of a rank for its transfer with `peer`: 0 lent, 1 copied, 2 blocks; from 3 on those of
  /// the other transfer.
  CUdeviceptr word(int of, int which, int peer) const {
    return address(reinterpret_cast<uint32_t*>(bases[static_cast<size_t>(of)]) +
                   static_cast<size_t>(which) * slots() + static_cast<size_t>(peer));
  }
  char* source(int of, int to) const { return data(of) + static_cast<size_t>(to) * slice; }
  char* result(int of, int from) const {
    return data(of) + (slots() + static_cast<size_t>(from)) * slice;
  }
  char* data(int of) const { return bases[static_cast<size_t>(of)] + kWordBytes; }
  hirgen::Loan loan(int peer, hirgen::CallNumber call, int first = 0) const {
    return {word(rank.rank, first, peer), word(peer, first + 1, rank.rank),
            reinterpret_cast<uint32_t*>(word(rank.rank, first + 2, peer)), call};
  }

  const Rank& rank;
  size_t slice;
  char* own = nullptr;
  std::vector<char*> bases;
};

/// Writes or awaits word `which` of the transfers with all peers: of theirs, or of this rank's.
template <class Group>
void words_with_all(Group group, const Exchange& x, bool of_peer, int which,
                    hirgen::CallNumber call, cudaStream_t stream) {
  for (int step = 1; step < x.rank.size; ++step) {
    const int peer = (x.rank.rank + step) % x.rank.size;
    group.add(of_peer ? x.word(peer, which, x.rank.rank) : x.word(x.rank.rank, which, peer), call);
  }
  group.submit(stream, "words");
}

}  // namespace device_test
