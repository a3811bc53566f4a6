// Kernels on words and buffers that ranks share. On the CPU device each is a wait, a copy and a
// write on the stream, so that its scheduler sees what a GPU's kernels leave open.
#include <algorithm>

#include "hirgen/error.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/transfers.hpp"
#include "kernels/spin.hpp"

namespace hirgen {
namespace {

struct Increment {
  uint32_t* counter;
  HG_HOST_DEVICE void operator()(int64_t /*i*/) const { ++*counter; }
};

#ifdef __CUDACC__

constexpr int kThreads = 512;
// A block has so much in flight that few blocks fill a link: 16 of them more than 1 MB. The rest of
// the multiprocessors is for products.
constexpr int kMostBlocks = 16;
constexpr size_t kBytesPerBlock = size_t{16} << 10;
// Of one launch. Their transfers, too, share the blocks that fill the links.
constexpr size_t kMostTransfers = 48;
constexpr size_t kMostWords = 128;

// What kernels take by value: at most 4 KB.
struct TransferList {
  Transfer transfers[kMostTransfers];
};
struct WordList {
  int count;
  WordUse use;
  Word words[kMostWords];
};
static_assert(sizeof(TransferList) <= 4000 && sizeof(WordList) <= 4000);

__global__ void __launch_bounds__(kMostWords) word_kernel(const __grid_constant__ WordList list) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= list.count) return;
  const Word& word = list.words[i];
  if (list.use == WordUse::kAwait) {
    spin(word.address, number_of(word.call));
  } else {
    publish(word.address, number_of(word.call));
  }
}

/// Copies the elements me, me + step, ... A thread has eight reads under way before it writes.
template <typename T>
__device__ void copy_elements(T* out, const T* in, size_t count, size_t me, size_t step) {
  constexpr int kAtOnce = 8;
  for (size_t first = me; first < count; first += kAtOnce * step) {
    T part[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * step < count) part[k] = in[first + k * step];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * step < count) out[first + k * step] = part[k];
    }
  }
}

/// Copies bytes up to the first T of `out`, then whole Ts, then what is left.
template <typename T>
__device__ void copy_as(char* out, const char* in, size_t bytes, size_t me, size_t step) {
  const size_t ahead = (sizeof(T) - reinterpret_cast<size_t>(out) % sizeof(T)) % sizeof(T);
  const size_t head = ahead < bytes ? ahead : bytes;
  const size_t whole = (bytes - head) / sizeof(T);
  const size_t tail = head + whole * sizeof(T);
  copy_elements(reinterpret_cast<T*>(out + head), reinterpret_cast<const T*>(in + head), whole, me,
                step);
  copy_elements(out, in, head, me, step);
  copy_elements(out + tail, in + tail, bytes - tail, me, step);
}

/// As wide as the two addresses allow: that they are equally far from a multiple of the width.
__device__ void copy_bytes(const Transfer& t, size_t me, size_t step) {
  char* out = static_cast<char*>(t.out);
  const char* in = static_cast<const char*>(t.in);
  const size_t apart = reinterpret_cast<size_t>(out) ^ reinterpret_cast<size_t>(in);
  if (apart % sizeof(uint4) == 0) return copy_as<uint4>(out, in, t.bytes, me, step);
  if (apart % sizeof(uint32_t) == 0) return copy_as<uint32_t>(out, in, t.bytes, me, step);
  copy_elements(out, in, t.bytes, me, step);
}

/// Row y of the grid is transfer y. The last of its blocks tells the peer, and leaves the count
/// of blocks at zero for the next kernel.
__global__ void __launch_bounds__(kThreads)
    transfer_kernel(const __grid_constant__ TransferList list) {
  const Transfer& t = list.transfers[blockIdx.y];
  const uint32_t number = number_of(t.loan.call);
  if (threadIdx.x == 0) spin(t.loan.lent, number);
  __syncthreads();
  copy_bytes(t, blockIdx.x * size_t{kThreads} + threadIdx.x, gridDim.x * size_t{kThreads});
  if (is_last_block(t.loan.blocks) && threadIdx.x == 0) publish(t.loan.copied, number);
}

void launch_transfers(const Transfer* first, size_t count, cudaStream_t stream, const char* where) {
  TransferList list;
  std::copy(first, first + count, list.transfers);
  size_t largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, first[i].bytes);
  const size_t wanted = (largest + kBytesPerBlock - 1) / kBytesPerBlock;
  const size_t most = std::max(kMostBlocks / count, size_t{1});
  const dim3 blocks(static_cast<unsigned>(std::clamp(wanted, size_t{1}, most)),
                    static_cast<unsigned>(count));
  void* arguments[] = {&list};
  HG_CHECK(cudaLaunchKernel(transfer_kernel, blocks, dim3(kThreads), arguments, 0, stream), where);
}

void launch_words(const Word* first, size_t count, WordUse use, cudaStream_t stream,
                  const char* where) {
  WordList list;
  list.count = static_cast<int>(count);
  list.use = use;
  std::copy(first, first + count, list.words);
  void* arguments[] = {&list};
  const dim3 threads(static_cast<unsigned>(count));
  HG_CHECK(cudaLaunchKernel(word_kernel, dim3(1), threads, arguments, 0, stream), where);
}

#else

constexpr size_t kMostTransfers = 1;
constexpr size_t kMostWords = 128;

void launch_words(const Word* first, size_t count, WordUse use, cudaStream_t stream,
                  const char* where) {
  std::vector<hirgen_cpu_word> words;
  for (const Word* word = first; word != first + count; ++word) {
    words.push_back({word->address, word->call.value, word->call.counter});
  }
  HG_CHECK(hirgen_cpu_launch_words(stream, use == WordUse::kAwait, words), where);
}

void launch_transfers(const Transfer* t, size_t /*count*/, cudaStream_t stream, const char* where) {
  const Word lent{t->loan.lent, t->loan.call};
  const Word copied{t->loan.copied, t->loan.call};
  launch_words(&lent, 1, WordUse::kAwait, stream, where);
  HG_CHECK(cudaMemcpyAsync(t->out, t->in, t->bytes, cudaMemcpyDeviceToDevice, stream), where);
  launch_words(&copied, 1, WordUse::kWrite, stream, where);
}

#endif

}  // namespace

void TransferKernel::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < transfers_.size(); first += kMostTransfers) {
    const size_t count = std::min(kMostTransfers, transfers_.size() - first);
    launch_transfers(transfers_.data() + first, count, stream, where);
  }
}

void launch_transfer(void* out, const void* in, size_t bytes, const Loan& loan, cudaStream_t stream,
                     const char* where) {
  const Transfer transfer{out, in, bytes, loan};
  launch_transfers(&transfer, 1, stream, where);
}

void WordKernel::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < words_.size(); first += kMostWords) {
    const size_t count = std::min(kMostWords, words_.size() - first);
    launch_words(words_.data() + first, count, use_, stream, where);
  }
}

void launch_count(uint32_t* counter, cudaStream_t stream, const char* where) {
  parallel_for(1, stream, where, Increment{counter});
}

}  // namespace hirgen
