// Sums of parts that peers lend. Reads go over the links between GPUs, which take microseconds: so
// each thread has four of 16 bytes under way before it adds, and there are 1024 of them on each
// multiprocessor.
#include <algorithm>
#include <string>

#include "hirgen/error.hpp"
#include "hirgen/loan_sum.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"
#include "spin.hpp"

namespace hirgen {
namespace {

constexpr size_t kMostSources = 64;

/// What the kernel takes by value: at most 4 KB.
struct LoanSumList {
  static constexpr size_t kMostWords = 192;

  void* out;
  int64_t elements;
  CallNumber call;
  uint32_t* blocks;                   // see Loan; null where there are no words
  int words, count, own;              // own: the place of this rank's part among the sources
  const void* sources[kMostSources];  // in the order of their ranks
  CUdeviceptr lent[kMostWords], read[kMostWords];
};
static_assert(sizeof(LoanSumList) <= 4000);

/// Adds W elements from `at` on, of all sources. No read waits for a branch: where no source is
/// left the own part is read again, and not used.
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
  store_as<T>(list.out, at, sum);
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
  const uint32_t number = number_of(list.call);
  for (int i = static_cast<int>(threadIdx.x); i < list.words; i += kSumThreads) {
    spin(list.lent[i], number);
  }
  __syncthreads();
  add_share<T, W>(list, blockIdx.x * int64_t{kSumThreads} + threadIdx.x,
                  gridDim.x * int64_t{kSumThreads});
  if (list.words == 0 || !is_last_block(list.blocks)) return;
  for (int i = static_cast<int>(threadIdx.x); i < list.words; i += kSumThreads) {
    publish(list.read[i], number);
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
  if (aligned(list.out) && std::all_of(list.sources, list.sources + list.count, aligned)) {
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

}  // namespace

void LoanSum::add(int64_t rank, const void* part, int64_t elements, const Loan& loan) {
  loans_.push_back(loan);
  const auto same = [rank](const Source& source) { return source.rank == rank; };
  const auto found = std::find_if(sources_.begin(), sources_.end(), same);
  if (found == sources_.end()) {
    sources_.push_back({rank, part, elements});
    return;
  }
  const auto bytes = found->elements * static_cast<int64_t>(size_of(type_));
  if (static_cast<const char*>(found->part) + bytes != part) {
    throw Error(Code::kInternal, "the pieces of a part that a sum reads do not follow each other");
  }
  found->elements += elements;
}

void LoanSum::submit(void* out, int64_t elements, cudaStream_t stream, const char* where) {
  if (sources_.size() > kMostSources) {
    throw Error(Code::kInternal, std::string(where) + ": a sum reads the memory of " +
                                     std::to_string(sources_.size()) + " ranks, and at most " +
                                     std::to_string(kMostSources) + " are possible");
  }
  std::sort(sources_.begin(), sources_.end(),
            [](const Source& a, const Source& b) { return a.rank < b.rank; });
  LoanSumList list = {};
  list.out = out;
  list.elements = elements;
  for (const Source& source : sources_) {
    if (source.part != own_ && source.elements != elements) {
      throw Error(Code::kInternal, std::string(where) + ": a sum reads a part of another size");
    }
    if (source.part == own_) list.own = list.count;
    list.sources[list.count++] = source.part;
  }
  if (loans_.size() <= kWordsInKernel) {
    for (const Loan& loan : loans_) {
      list.lent[list.words] = loan.lent;
      list.read[list.words++] = loan.copied;
      list.call = loan.call;
      list.blocks = loan.blocks;
    }
    return launch_sum(list, type_, stream, where);
  }
  WordKernel lent(WordUse::kAwait), read(WordUse::kWrite);
  for (const Loan& loan : loans_) {
    lent.add(loan.lent, loan.call);
    read.add(loan.copied, loan.call);
  }
  lent.submit(stream, where);
  launch_sum(list, type_, stream, where);
  read.submit(stream, where);
}

}  // namespace hirgen
