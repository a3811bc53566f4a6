// Tests of copies between ranks by the runtime's kernels, as emitted programs do them in shared
// memory: with flags by kernels and by batches of memory operations, in consecutive calls, and in
// graphs.
#include "hirgen/transfers.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exchange.hpp"

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/transfers.cpp";

/// A byte that differs for most pairs of calls, indices and ranks.
unsigned char byte_of(int rank, uint32_t call, size_t i) {
  return static_cast<unsigned char>(31 * static_cast<unsigned>(rank) + 7 * call +
                                    13 * static_cast<unsigned>(i) + 1);
}

/// Checks one copy within a device, with any alignment of source and destination. The copy starts
/// after the ready flag, writes nothing around the destination, and sets the done flag.
void check_copy(size_t bytes, size_t out_shift, size_t in_shift) {
  constexpr size_t kMargin = 32;
  const size_t room = bytes + 2 * kMargin;
  cudaStream_t stream = make_stream(), writer = make_stream();
  auto* flags = upload(std::vector<uint32_t>{4, 0, 0});
  std::vector<unsigned char> data(room);
  for (size_t i = 0; i < room; ++i) data[i] = byte_of(0, 5, i);
  auto* in = upload(data);
  auto* out = upload(std::vector<unsigned char>(room, 0));
  const TransferFlags transfer{address(flags), address(flags + 1), flags + 2, {5, nullptr}};
  launch_transfer(out + kMargin + out_shift, in + kMargin + in_shift, bytes, transfer, stream,
                  kWhere);
  EXPECT(is_blocked(stream));
  OK(driver().cuStreamWriteValue32(writer, address(flags), 5, 0));
  OK(cudaStreamSynchronize(stream));
  std::vector<unsigned char> want(room, 0);
  std::copy_n(data.begin() + static_cast<ptrdiff_t>(kMargin + in_shift), bytes,
              want.begin() + static_cast<ptrdiff_t>(kMargin + out_shift));
  EXPECT(download(out, room) == want);
  EXPECT(download(flags, 3) == (std::vector<uint32_t>{5, 5, 0}));
  OK(cudaFree(in));
  OK(cudaFree(out));
  OK(cudaFree(flags));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(writer));
}

void copies_of_all_sizes_and_alignments() {
  for (size_t bytes : {1, 2, 15, 16, 17, 1000, 16384, 70001, 3 << 20}) check_copy(bytes, 0, 0);
  for (size_t shift : {1, 2, 4, 8, 15}) {
    check_copy(1003, shift, shift);
    check_copy(1003, shift, 0);
    check_copy(100'003, 0, shift);
  }
}

/// A variant of an exchange.
struct Form {
  bool put;       ///< the sender copies
  bool kernels;   ///< flags by kernels, else by batches of memory operations
  bool together;  ///< one kernel for all transfers, else one kernel each
};

void flags_with_all(const Form& form, FlagUse use, const Exchange& x, int which,
                    SequenceNumber call, cudaStream_t stream) {
  const bool of_peer = use == FlagUse::kWrite;
  if (form.kernels) return flags_with_all(FlagKernel(use), x, of_peer, which, call, stream);
  flags_with_all(MemOpBatch(use, driver()), x, of_peer, which, call, stream);
}

/// One call: every rank passes a shard to every other one. The owner of the memory that a peer
/// accesses sets the ready flag on `caller`, the peer copies on `copies`, and `caller` waits for
/// the done flags and for the copies.
void all_to_all(const Form& form, const Exchange& x, SequenceNumber call, cudaStream_t caller,
                cudaStream_t copies, cudaEvent_t ready, cudaEvent_t done) {
  flags_with_all(form, FlagUse::kWrite, x, 0, call, caller);
  OK(cudaEventRecord(ready, caller));
  OK(cudaStreamWaitEvent(copies, ready, 0));
  TransferKernel together;
  for (int step = 1; step < x.rank.size; ++step) {
    const int me = x.rank.rank;
    const int peer = form.put ? (me + x.rank.size - step) % x.rank.size : (me + step) % x.rank.size;
    char* out = form.put ? x.result(peer, me) : x.result(me, peer);
    const char* in = form.put ? x.source(me, peer) : x.source(peer, me);
    if (form.together) {
      together.add(out, in, x.shard, x.flags(peer, call));
    } else {
      launch_transfer(out, in, x.shard, x.flags(peer, call), copies, kWhere);
    }
  }
  together.submit(copies, kWhere);
  OK(cudaEventRecord(done, copies));
  flags_with_all(form, FlagUse::kWait, x, 1, call, caller);
  OK(cudaStreamWaitEvent(caller, done, 0));
}

std::vector<unsigned char> slices_of(const Exchange& x, uint32_t call, bool sent) {
  std::vector<unsigned char> bytes(x.slots() * x.shard);
  for (int other = 0; other < x.rank.size; ++other) {
    if (other == x.rank.rank && !sent) continue;
    const int from = sent ? x.rank.rank : other;
    const int to = sent ? other : x.rank.rank;
    for (size_t i = 0; i < x.shard; ++i) {
      bytes[static_cast<size_t>(other) * x.shard + i] =
          byte_of(from, call, i + static_cast<size_t>(to));
    }
  }
  return bytes;
}

constexpr uint32_t kCalls = 16;

/// Consecutive calls without the host in between, each with other data.
void calls_in_a_row(int size, size_t shard, const Form& form) {
  run_ranks(size, [&](const Rank& rank) {
    Exchange x(rank, shard);
    cudaStream_t caller = make_stream(), copies = make_stream();
    cudaEvent_t ready = make_event(), done = make_event();
    std::vector<unsigned char*> inputs;
    for (uint32_t call = 0; call < kCalls; ++call)
      inputs.push_back(upload(slices_of(x, call, true)));
    const size_t bytes = x.slots() * shard;
    unsigned char* kept = upload(std::vector<unsigned char>(kCalls * bytes));
    rank.barrier();
    for (uint32_t call = 0; call < kCalls; ++call) {
      OK(cudaMemcpyAsync(x.source(rank.rank, 0), inputs[call], bytes, cudaMemcpyDeviceToDevice,
                         caller));
      all_to_all(form, x, {Exchange::start + 1 + call, nullptr}, caller, copies, ready, done);
      OK(cudaMemcpyAsync(kept + call * bytes, x.result(rank.rank, 0), bytes,
                         cudaMemcpyDeviceToDevice, caller));
    }
    OK(cudaStreamSynchronize(caller));
    for (uint32_t call = 0; call < kCalls; ++call) {
      EXPECT(download(kept + call * bytes, bytes) == slices_of(x, call, false));
    }
  });
}

/// calls_in_a_row() with a launch of one graph for each call.
void calls_of_a_graph(int size, size_t shard, const Form& form) {
  run_ranks(size, [&](const Rank& rank) {
    Exchange x(rank, shard);
    cudaStream_t caller = make_stream(), copies = make_stream();
    cudaEvent_t ready = make_event(), done = make_event();
    auto* counter = upload(std::vector<uint32_t>{Exchange::start});
    const size_t bytes = x.slots() * shard;
    OK(cudaStreamBeginCapture(caller, cudaStreamCaptureModeThreadLocal));
    launch_counts({counter}, caller, kWhere);
    all_to_all(form, x, {0, counter}, caller, copies, ready, done);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamEndCapture(caller, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    std::vector<unsigned char*> inputs;
    for (uint32_t call = 0; call < kCalls; ++call)
      inputs.push_back(upload(slices_of(x, call, true)));
    unsigned char* kept = upload(std::vector<unsigned char>(kCalls * bytes));
    for (uint32_t call = 0; call < kCalls; ++call) {
      OK(cudaMemcpyAsync(x.source(rank.rank, 0), inputs[call], bytes, cudaMemcpyDeviceToDevice,
                         caller));
      OK(cudaGraphLaunch(exec, caller));
      OK(cudaMemcpyAsync(kept + call * bytes, x.result(rank.rank, 0), bytes,
                         cudaMemcpyDeviceToDevice, caller));
    }
    OK(cudaStreamSynchronize(caller));
    for (uint32_t call = 0; call < kCalls; ++call) {
      EXPECT(download(kept + call * bytes, bytes) == slices_of(x, call, false));
    }
    OK(cudaGraphExecDestroy(exec));
  });
}

constexpr Form kGet{false, true, false}, kPut{true, true, false};
constexpr Form kGetTogether{false, true, true}, kPutTogether{true, true, true};
constexpr Form kBatchedGet{false, false, false}, kBatchedPut{true, false, true};

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"copies_of_all_sizes_and_alignments", copies_of_all_sizes_and_alignments},
                       {"get_2", [] { calls_in_a_row(2, 1024, kGet); }},
                       {"put_2", [] { calls_in_a_row(2, 1024, kPut); }},
                       {"get_together_2", [] { calls_in_a_row(2, 300'000, kGetTogether); }},
                       {"put_together_2", [] { calls_in_a_row(2, 300'000, kPutTogether); }},
                       {"get_4", [] { calls_in_a_row(4, 50'000, kGet); }},
                       {"get_together_4", [] { calls_in_a_row(4, 50'000, kGetTogether); }},
                       {"put_together_4", [] { calls_in_a_row(4, 1024, kPutTogether); }},
                       {"batched_get_4", [] { calls_in_a_row(4, 1024, kBatchedGet); }},
                       {"batched_put_4", [] { calls_in_a_row(4, 1024, kBatchedPut); }},
                       {"graph_get_2", [] { calls_of_a_graph(2, 1024, kGet); }},
                       {"graph_put_2", [] { calls_of_a_graph(2, 300'000, kPut); }},
                       {"graph_get_together_4", [] { calls_of_a_graph(4, 1024, kGetTogether); }},
                   });
}
