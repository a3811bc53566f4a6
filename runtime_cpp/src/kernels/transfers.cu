// Kernels on flags and buffers that ranks share. On the CPU device, a transfer is a wait, a copy
// and a flag write on the stream, so that the device's scheduler can try all orders that a GPU's
// kernels allow.
#include <algorithm>

#include "hirgen/device_flags.hpp"
#include "hirgen/error.hpp"
#include "hirgen/parallel_for.hpp"
#include "hirgen/transfers.hpp"
#include "kernels/copy_elements.hpp"

namespace hirgen {
namespace {

constexpr size_t kMostCounters = 64;
/// Adds 1 to each of up to kMostCounters counters.
struct Increment {
  uint32_t* counters[kMostCounters];
  HG_HOST_DEVICE void operator()(int64_t i) const { ++*counters[i]; }
};

#ifdef __CUDACC__

constexpr int kThreads = 512;
// Few blocks fill a link, since each has many bytes in flight: 16 blocks have more than 1 MB. The
// other SMs are for GEMMs.
constexpr int kMostBlocks = 16;
constexpr size_t kBytesPerBlock = size_t{16} << 10;
// The most transfers of one launch. They share kMostBlocks blocks, but each has at least one.
constexpr size_t kMostTransfers = 48;
constexpr size_t kMostFlags = 128;

// The arguments of kernels, passed by value: at most 4 KB.
struct TransferList {
  Transfer transfers[kMostTransfers];
};
struct FlagList {
  int count;
  FlagUse use;
  Flag flags[kMostFlags];
};
static_assert(sizeof(TransferList) <= 4000 && sizeof(FlagList) <= 4000);

__global__ void __launch_bounds__(kMostFlags) flag_kernel(const __grid_constant__ FlagList list) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= list.count) return;
  const Flag& flag = list.flags[i];
  if (list.use == FlagUse::kWait) {
    wait_flag(flag.address, value_of(flag.sequence));
  } else {
    write_flag(flag.address, value_of(flag.sequence));
  }
}

/// Row y of the grid is transfer y. Its last block sets the done flag, and resets the count of
/// blocks to zero for the next kernel.
__global__ void __launch_bounds__(kThreads)
    transfer_kernel(const __grid_constant__ TransferList list) {
  const Transfer& t = list.transfers[blockIdx.y];
  const uint32_t sequence = value_of(t.flags.sequence);
  if (threadIdx.x == 0) wait_flag(t.flags.ready, sequence);
  __syncthreads();
  copy_bytes(static_cast<char*>(t.out), static_cast<const char*>(t.in), t.bytes,
             thread_of_grid(blockIdx.x, kThreads, threadIdx.x),
             thread_of_grid(gridDim.x, kThreads, 0));
  if (is_last_block(t.flags.blocks) && threadIdx.x == 0) write_flag(t.flags.done, sequence);
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
  const TracedCall traced(TraceKind::kCopy, "kernel", stream, where);
  HG_CHECK(cudaLaunchKernel(transfer_kernel, blocks, dim3(kThreads), arguments, 0, stream), where);
}

void launch_flags(const Flag* first, size_t count, FlagUse use, cudaStream_t stream,
                  const char* where) {
  FlagList list;
  list.count = static_cast<int>(count);
  list.use = use;
  std::copy(first, first + count, list.flags);
  void* arguments[] = {&list};
  const dim3 threads(static_cast<unsigned>(count));
  const TracedCall traced(flag_kind(use), "kernel", stream, where);
  HG_CHECK(cudaLaunchKernel(flag_kernel, dim3(1), threads, arguments, 0, stream), where);
}

#else

constexpr size_t kMostTransfers = 1;
constexpr size_t kMostFlags = 128;

void launch_flags(const Flag* first, size_t count, FlagUse use, cudaStream_t stream,
                  const char* where) {
  std::vector<hirgen_cpu_flag> flags;
  for (const Flag* flag = first; flag != first + count; ++flag) {
    flags.push_back({flag->address, flag->sequence.value, flag->sequence.counter});
  }
  const TracedCall traced(flag_kind(use), "kernel", stream, where);
  HG_CHECK(hirgen_cpu_launch_flags(stream, use == FlagUse::kWait, flags), where);
}

void launch_transfers(const Transfer* t, size_t /*count*/, cudaStream_t stream, const char* where) {
  const Flag ready{t->flags.ready, t->flags.sequence};
  const Flag done{t->flags.done, t->flags.sequence};
  launch_flags(&ready, 1, FlagUse::kWait, stream, where);
  HG_CHECK(cudaMemcpyAsync(t->out, t->in, t->bytes, cudaMemcpyDeviceToDevice, stream), where);
  launch_flags(&done, 1, FlagUse::kWrite, stream, where);
}

#endif

}  // namespace

void TransferKernel::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < transfers_.size(); first += kMostTransfers) {
    const size_t count = std::min(kMostTransfers, transfers_.size() - first);
    launch_transfers(transfers_.data() + first, count, stream, where);
  }
}

void launch_transfer(void* out, const void* in, size_t bytes, const TransferFlags& flags,
                     cudaStream_t stream, const char* where) {
  const Transfer transfer{out, in, bytes, flags};
  launch_transfers(&transfer, 1, stream, where);
}

void FlagKernel::submit(cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < flags_.size(); first += kMostFlags) {
    const size_t count = std::min(kMostFlags, flags_.size() - first);
    launch_flags(flags_.data() + first, count, use_, stream, where);
  }
}

void launch_counts(const std::vector<uint32_t*>& counters, cudaStream_t stream, const char* where) {
  for (size_t first = 0; first < counters.size(); first += kMostCounters) {
    const size_t count = std::min(kMostCounters, counters.size() - first);
    Increment increment{};
    std::copy_n(counters.begin() + static_cast<ptrdiff_t>(first), count, increment.counters);
    parallel_for(static_cast<int64_t>(count), stream, where, increment);
  }
}

}  // namespace hirgen
