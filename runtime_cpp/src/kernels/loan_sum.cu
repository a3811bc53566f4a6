// Sums of parts that peers lend. Reads go over the links between GPUs, which take microseconds: so
// each thread has four of 16 bytes under way before it adds, and there are 1024 of them on each
// multiprocessor. Nothing waits for what is written to peers but the word at the end, so it goes
// the other way over the links while the next elements are read.
#include <algorithm>
#include <string>

#include "hirgen/error.hpp"
#include "hirgen/loan_sum.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"
#include "kernels/spin.hpp"

namespace hirgen {
namespace {

constexpr size_t kMostRanks = 64;

/// What the kernel takes by value: at most 4 KB.
struct LoanSumList {
  static constexpr size_t kMostWords = 144;

  void* out;
  int64_t elements;
  CallNumber read, written;  // the calls of the words of parts, and of those of places
  uint32_t* blocks;          // see Loan; null where there are no words
  // The first words are those of parts. own: the place of this rank's part among the sources.
  int words, parts, count, own, copies;
  const void* sources[kMostRanks];  // in the order of their ranks
  void* targets[kMostRanks];        // of peers, in the order of store()
  CUdeviceptr lent[kMostWords], done[kMostWords];
};
static_assert(sizeof(LoanSumList) <= 4000);

/// Adds W elements from `at` on, of all sources, and stores them. No read waits for a branch: where
/// no source is left the own part is read again, and not used.
template <typename T, int W>
HG_HOST_DEVICE void add_elements(const LoanSumList& list, int64_t at) {
  constexpr int kAtOnce = 4;
  float sum[W] = {};
  for (int first = 0; first < list.count; first += kAtOnce) {
    Pack<T, W> part[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      const int next = first + k < list.count ? first + k : list.own;
      const T* source = static_cast<const T*>(list.sources[next]);
      part[k] = *reinterpret_cast<const Pack<T, W>*>(source + at);
    }
    for (int k = 0; k < kAtOnce && first + k < list.count; ++k) {
      for (int j = 0; j < W; ++j) sum[j] += widen(part[k].value[j]);
    }
  }
  Pack<T, W> result;
  for (int j = 0; j < W; ++j) narrow(sum[j], result.value[j]);
  store_pack(static_cast<T*>(list.out) + at, result);
  for (int i = 0; i < list.copies; ++i) store_pack(static_cast<T*>(list.targets[i]) + at, result);
}

/// Adds the elements of thread `me` of `threads`: in packs of W, and then what is left, one by one.
template <typename T, int W>
HG_HOST_DEVICE void add_share(const LoanSumList& list, int64_t me, int64_t threads) {
  const int64_t packs = list.elements / W;
  for (int64_t i = me; i < packs; i += threads) add_elements<T, W>(list, i * W);
  if constexpr (W > 1) {
    for (int64_t i = packs * W + me; i < list.elements; i += threads) add_elements<T, 1>(list, i);
  }
}

#ifdef __CUDACC__

constexpr int kSumThreads = 512;
constexpr int kSumBlocks = 2;  // of a multiprocessor

template <typename T, int W>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    loan_sum_kernel(const __grid_constant__ LoanSumList list) {
  const uint32_t read = number_of(list.read), written = number_of(list.written);
  for (int i = static_cast<int>(threadIdx.x); i < list.words; i += kSumThreads) {
    spin(list.lent[i], i < list.parts ? read : written);
  }
  __syncthreads();
  add_share<T, W>(list, blockIdx.x * int64_t{kSumThreads} + threadIdx.x,
                  gridDim.x * int64_t{kSumThreads});
  if (list.words == 0 || !is_last_block(list.blocks)) return;
  for (int i = static_cast<int>(threadIdx.x); i < list.words; i += kSumThreads) {
    publish(list.done[i], i < list.parts ? read : written);
  }
}

template <typename T, int W>
void launch_sum(const LoanSumList& list, cudaStream_t stream, const char* where) {
  int device = 0, multiprocessors = 0;
  HG_CHECK(cudaGetDevice(&device), where);
  HG_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), where);
  const int64_t wanted = (list.elements / W + kSumThreads - 1) / kSumThreads;
  const dim3 blocks(
      static_cast<unsigned>(std::clamp(wanted, int64_t{1}, int64_t{kSumBlocks} * multiprocessors)));
  const void* kernel = reinterpret_cast<const void*>(&loan_sum_kernel<T, W>);
  void* arguments[] = {const_cast<LoanSumList*>(&list)};
  HG_CHECK(cudaLaunchKernel(kernel, blocks, dim3(kSumThreads), arguments, 0, stream), where);
}

constexpr size_t kWordsInKernel = LoanSumList::kMostWords;

#else

template <typename T, int W>
struct LoanSumTask {
  LoanSumList list;
  void operator()(int64_t /*i*/) const { add_share<T, W>(list, 0, 1); }
};

template <typename T, int W>
void launch_sum(const LoanSumList& list, cudaStream_t stream, const char* where) {
  parallel_for(1, stream, where, LoanSumTask<T, W>{list});
}

// None: its scheduler then sees a wait, a sum and a write on the stream.
constexpr size_t kWordsInKernel = 0;

#endif

template <typename T>
void launch_sum_of(const LoanSumList& list, cudaStream_t stream, const char* where) {
  constexpr int kWidth = static_cast<int>(16 / sizeof(T));
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  if (aligned(list.out) && std::all_of(list.sources, list.sources + list.count, aligned) &&
      std::all_of(list.targets, list.targets + list.copies, aligned)) {
    return launch_sum<T, kWidth>(list, stream, where);
  }
  launch_sum<T, 1>(list, stream, where);
}

void launch_sum(const LoanSumList& list, DType type, cudaStream_t stream, const char* where) {
  switch (type) {
    case DType::kFp32:
      return launch_sum_of<float>(list, stream, where);
    case DType::kFp16:
      return launch_sum_of<__half>(list, stream, where);
    case DType::kBf16:
      return launch_sum_of<__nv_bfloat16>(list, stream, where);
  }
}

/// Puts the words of parts, or of places, behind those that the list has.
CallNumber add_words(LoanSumList& list, const std::vector<Loan>& loans) {
  for (const Loan& loan : loans) {
    list.lent[list.words] = loan.lent;
    list.done[list.words++] = loan.copied;
    list.blocks = loan.blocks;
  }
  return loans.empty() ? CallNumber{} : loans[0].call;  // those of one buffer have one
}

}  // namespace

void LoanSum::extend(std::vector<Lent>& all, int64_t rank, const void* memory,
                     int64_t elements) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [rank](const Lent& l) { return l.rank == rank; });
  if (found == all.end()) {
    all.push_back({rank, memory, elements});
    return;
  }
  const auto bytes = found->elements * static_cast<int64_t>(size_of(type_));
  if (static_cast<const char*>(found->memory) + bytes != memory) {
    throw Error(Code::kInternal,
                "the pieces of what a sum reads or writes do not follow each other");
  }
  found->elements += elements;
}

void LoanSum::add(int64_t rank, const void* part, int64_t elements, const Loan& loan) {
  read_.push_back(loan);
  extend(sources_, rank, part, elements);
}

void LoanSum::store(int64_t rank, void* place, int64_t elements, const Loan& loan) {
  written_.push_back(loan);
  extend(targets_, rank, place, elements);
}

void LoanSum::submit(void* out, int64_t elements, cudaStream_t stream, const char* where) {
  if (sources_.size() > kMostRanks || targets_.size() > kMostRanks) {
    throw Error(Code::kInternal, std::string(where) + ": a sum is about the memory of " +
                                     std::to_string(std::max(sources_.size(), targets_.size())) +
                                     " ranks, and at most " + std::to_string(kMostRanks) +
                                     " are possible");
  }
  std::sort(sources_.begin(), sources_.end(),
            [](const Lent& a, const Lent& b) { return a.rank < b.rank; });
  LoanSumList list = {};
  list.out = out;
  list.elements = elements;
  const auto whole = [&](const Lent& lent) {
    return lent.memory == own_ || lent.elements == elements;
  };
  if (!std::all_of(sources_.begin(), sources_.end(), whole) ||
      !std::all_of(targets_.begin(), targets_.end(), whole)) {
    throw Error(Code::kInternal, std::string(where) + ": a sum is about a part of another size");
  }
  for (const Lent& source : sources_) {
    if (source.memory == own_) list.own = list.count;
    list.sources[list.count++] = source.memory;
  }
  for (const Lent& target : targets_)
    list.targets[list.copies++] = const_cast<void*>(target.memory);
  if (read_.size() + written_.size() <= kWordsInKernel) {
    list.read = add_words(list, read_);
    list.parts = list.words;
    list.written = add_words(list, written_);
    return launch_sum(list, type_, stream, where);
  }
  WordKernel lent(WordUse::kAwait), done(WordUse::kWrite);
  for (const std::vector<Loan>* loans : {&read_, &written_}) {
    for (const Loan& loan : *loans) {
      lent.add(loan.lent, loan.call);
      done.add(loan.copied, loan.call);
    }
  }
  lent.submit(stream, where);
  launch_sum(list, type_, stream, where);
  done.submit(stream, where);
}

}  // namespace hirgen
