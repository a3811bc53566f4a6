// Reductions that read partial sums in peer memory. A read over the links between GPUs takes
// microseconds. To have many reads in flight, each thread issues up to four 16-byte reads before it
// adds, and each SM runs up to 1024 threads. Writes to peers are waited for only at the end, before
// the done flags are set. So they use the other direction of the links while the next elements are
// read.
#include <algorithm>
#include <string>

#include "hirgen/device_flags.hpp"
#include "hirgen/error.hpp"
#include "hirgen/launch.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/peer_read_reduction.hpp"
#include "kernels/add_elements.hpp"

namespace hirgen {
namespace {

#ifdef __CUDACC__

constexpr int kSumThreads = 512;
constexpr int kSumBlocks = 2;  // blocks that an SM runs at the same time

template <typename T, int W>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    peer_read_reduction_kernel(const __grid_constant__ ReductionList list) {
  const uint32_t read = value_of(list.read), written = value_of(list.written);
  for (int i = static_cast<int>(threadIdx.x); i < list.flags; i += kSumThreads) {
    wait_flag(list.ready[i], i < list.read_flags ? read : written);
  }
  __syncthreads();
  add_strided<T, W>(list, thread_of_grid(blockIdx.x, kSumThreads, threadIdx.x),
                    thread_of_grid(gridDim.x, kSumThreads, 0));
  if (list.flags == 0 || !is_last_block(list.blocks)) return;
  for (int i = static_cast<int>(threadIdx.x); i < list.flags; i += kSumThreads) {
    write_flag(list.done[i], i < list.read_flags ? read : written);
  }
}

template <typename T, int W>
void launch_sum(const ReductionList& list, cudaStream_t stream, const char* where) {
  const int64_t wanted = (list.elements / W + kSumThreads - 1) / kSumThreads;
  const dim3 blocks(static_cast<unsigned>(
      std::clamp(wanted, int64_t{1}, int64_t{kSumBlocks} * multiprocessors(where))));
  const void* kernel = reinterpret_cast<const void*>(&peer_read_reduction_kernel<T, W>);
  void* arguments[] = {const_cast<ReductionList*>(&list)};
  const TracedCall traced(TraceKind::kKernel, "kernel", stream, where);
  HG_CHECK(cudaLaunchKernel(kernel, blocks, dim3(kSumThreads), arguments, 0, stream), where);
}

constexpr size_t kFlagsInKernel = ReductionList::kMostFlags;

#else

template <typename T, int W>
struct ReductionTask {
  ReductionList list;
  void operator()(int64_t /*i*/) const { add_strided<T, W>(list, 0, 1); }
};

template <typename T, int W>
void launch_sum(const ReductionList& list, cudaStream_t stream, const char* where) {
  parallel_for(1, stream, where, ReductionTask<T, W>{list});
}

// On the CPU device, the kernel handles no flags: wait, sum and write are separate operations,
// whose order relative to other streams the scheduler can vary.
constexpr size_t kFlagsInKernel = 0;

#endif

template <typename T>
void launch_sum_of(const ReductionList& list, cudaStream_t stream, const char* where) {
  constexpr int kWidth = static_cast<int>(16 / sizeof(T));
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  if (aligned(list.out) && std::all_of(list.sources, list.sources + list.count, aligned) &&
      std::all_of(list.targets, list.targets + list.copies, aligned)) {
    return launch_sum<T, kWidth>(list, stream, where);
  }
  launch_sum<T, 1>(list, stream, where);
}

void launch_sum(const ReductionList& list, DType type, cudaStream_t stream, const char* where) {
  switch (type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return launch_sum_of<element>(list, stream, where);
    HG_NUMBER_TYPES(HG_CASE)
#undef HG_CASE
    default:
      break;
  }
  throw Error(Code::kInternal, std::string(where) + ": a sum of integers");
}

/// Appends the flags of sources, or of targets, to the list. Returns their sequence number.
SequenceNumber add_flags(ReductionList& list, const std::vector<TransferFlags>& all) {
  for (const TransferFlags& flags : all) {
    list.ready[list.flags] = flags.ready;
    list.done[list.flags++] = flags.done;
    list.blocks = flags.blocks;
  }
  return all.empty() ? SequenceNumber{} : all[0].sequence;  // equal for all flags of a buffer
}

}  // namespace

void PeerReadReduction::extend(std::vector<RankMemory>& all, int64_t rank, const void* memory,
                               int64_t elements) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [rank](const RankMemory& m) { return m.rank == rank; });
  if (found == all.end()) {
    all.push_back({rank, memory, elements});
    return;
  }
  const auto bytes = found->elements * static_cast<int64_t>(size_of(type_));
  if (static_cast<const char*>(found->memory) + bytes != memory) {
    throw Error(Code::kInternal,
                "the sub-chunks of what a reduction reads or writes do not follow each other");
  }
  found->elements += elements;
}

void PeerReadReduction::add(int64_t rank, const void* partial_sum, int64_t elements,
                            const TransferFlags& flags) {
  read_.push_back(flags);
  extend(sources_, rank, partial_sum, elements);
}

void PeerReadReduction::store(int64_t rank, void* target, int64_t elements,
                              const TransferFlags& flags) {
  written_.push_back(flags);
  extend(targets_, rank, target, elements);
}

void PeerReadReduction::submit(void* out, int64_t elements, cudaStream_t stream,
                               const char* where) {
  if (sources_.size() > kMostRanks || targets_.size() > kMostRanks) {
    throw Error(Code::kInternal, std::string(where) + ": a reduction is over the memory of " +
                                     std::to_string(std::max(sources_.size(), targets_.size())) +
                                     " ranks, and at most " + std::to_string(kMostRanks) +
                                     " are possible");
  }
  std::sort(sources_.begin(), sources_.end(),
            [](const RankMemory& a, const RankMemory& b) { return a.rank < b.rank; });
  ReductionList list = {};
  list.out = out;
  list.elements = elements;
  const auto whole = [&](const RankMemory& memory) {
    return memory.memory == local_ || memory.elements == elements;
  };
  if (!std::all_of(sources_.begin(), sources_.end(), whole) ||
      !std::all_of(targets_.begin(), targets_.end(), whole)) {
    throw Error(Code::kInternal,
                std::string(where) + ": a reduction is over a partial sum of another size");
  }
  for (const RankMemory& source : sources_) {
    if (source.memory == local_) list.local = list.count;
    list.sources[list.count++] = source.memory;
  }
  for (const RankMemory& target : targets_)
    list.targets[list.copies++] = const_cast<void*>(target.memory);
  if (read_.size() + written_.size() <= kFlagsInKernel) {
    list.read = add_flags(list, read_);
    list.read_flags = list.flags;
    list.written = add_flags(list, written_);
    return launch_sum(list, type_, stream, where);
  }
  FlagKernel ready(FlagUse::kWait), done(FlagUse::kWrite);
  for (const std::vector<TransferFlags>* all : {&read_, &written_}) {
    for (const TransferFlags& flags : *all) {
      ready.add(flags.ready, flags.sequence);
      done.add(flags.done, flags.sequence);
    }
  }
  ready.submit(stream, where);
  launch_sum(list, type_, stream, where);
  done.submit(stream, where);
}

}  // namespace hirgen
