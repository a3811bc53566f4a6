// Tests of reductions of partial sums in peer memory, as emitted programs launch them, also with
// copies of the result to peers: several sizes, all types, rank order, consecutive calls, and
// graphs.
#include <cstdint>
#include <vector>

#include "exchange.hpp"
#include "hirgen/error.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/peer_read_reduction.hpp"

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/peer_read_reductions.cpp";

/// The element at an index, for one call and rank. Most adjacent elements differ, and most fp32
/// sums depend on the order.
float value_of(int rank, uint32_t call, size_t i) {
  const auto mixed = static_cast<uint32_t>(i * 2654435761U) ^ (call * 97 + 31);
  return static_cast<float>(static_cast<int>(mixed % 1021) - 510) *
         (rank % 2 == 0 ? 0.37F : 0.0037F);
}

template <class T>
std::vector<T> elements_of(int rank, uint32_t call, size_t first, size_t count) {
  std::vector<T> list(count);
  for (size_t i = 0; i < count; ++i) narrow(value_of(rank, call, first + i), list[i]);
  return list;
}

/// The sum of these parts: in fp32, in order, rounded once.
template <class T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& parts) {
  std::vector<T> list(parts[0].size());
  for (size_t i = 0; i < list.size(); ++i) {
    float sum = 0;
    for (const std::vector<T>& part : parts) sum += widen(part[i]);
    narrow(sum, list[i]);
  }
  return list;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return widen(x) == widen(y); });
}

/// The parameters of a test of one sum.
struct Shape {
  int ranks, local;
  size_t count;
  size_t shift = 0;   // elements between a multiple of 16 bytes and each source and target
  size_t chunks = 1;  // number of pieces in which each source and target is added
  int targets = 0;    // peers that the sum is also written to
};

/// Checks the kernel of one rank, with the sources and targets of all ranks on one device. The sum
/// waits for every ready flag, adds in rank order for any order of add(), writes nothing around the
/// result and the targets, and sets every done flag.
template <class T>
void check_sum(DType type, const Shape& shape) {
  constexpr size_t kMargin = 16;
  const auto [ranks, local, count, shift, chunks, targets] = shape;
  cudaStream_t stream = make_stream(), writer = make_stream();
  const auto peers = static_cast<size_t>(ranks - 1 + targets) * chunks;
  std::vector<uint32_t> before(3 * peers, 4);
  std::fill(before.begin() + static_cast<ptrdiff_t>(2 * peers), before.end(), 0U);
  auto* flags = upload(before);
  std::vector<std::vector<T>> values;
  std::vector<T*> parts;
  for (int r = 0; r < ranks; ++r) {
    values.push_back(elements_of<T>(r, 5, 0, count));
    std::vector<T> room = elements_of<T>(r, 9, 0, shift);
    room.insert(room.end(), values.back().begin(), values.back().end());
    parts.push_back(upload(room) + shift);
  }
  const std::vector<T> rest = elements_of<T>(0, 7, 0, shift + count + 2 * kMargin);
  std::vector<T*> results;  // the local one first
  for (int i = 0; i <= targets; ++i) results.push_back(upload(rest));
  PeerReadReduction sum(local, parts[static_cast<size_t>(local)], type);
  size_t next = 0;
  const auto each_chunk = [&](T* first, auto use) {
    for (size_t chunk = 0; chunk < chunks; ++chunk, ++next) {
      use(first + chunk * (count / chunks), static_cast<int64_t>(count / chunks),
          TransferFlags{address(flags + next),
                        address(flags + peers + next),
                        flags + 2 * peers + next,
                        {5, nullptr}});
    }
  };
  for (int step = 1; step < ranks; ++step) {
    const int peer = (local + ranks - step) % ranks;
    each_chunk(
        parts[static_cast<size_t>(peer)],
        [&](T* part, int64_t n, const TransferFlags& flags) { sum.add(peer, part, n, flags); });
    if (step > targets) continue;
    each_chunk(results[static_cast<size_t>(step)] + kMargin + shift,
               [&](T* target, int64_t n, const TransferFlags& flags) {
                 sum.store(peer, target, n, flags);
               });
  }
  sum.submit(results[0] + kMargin, static_cast<int64_t>(count), stream, kWhere);
  for (size_t i = 0; i < peers; ++i) {
    EXPECT(is_blocked(stream));
    OK(driver().cuStreamWriteValue32(writer, address(flags + i), 5, 0));
    OK(cudaStreamSynchronize(writer));
  }
  OK(cudaStreamSynchronize(stream));
  const std::vector<T> made = sum_of(values);
  for (T* result : results) {
    std::vector<T> want = rest;
    const size_t first = kMargin + (result == results[0] ? 0 : shift);
    std::copy(made.begin(), made.end(), want.begin() + static_cast<ptrdiff_t>(first));
    EXPECT(same(download(result, want.size()), want));
    OK(cudaFree(result));
  }
  std::vector<uint32_t> after(3 * peers, 5);
  std::fill(after.begin() + static_cast<ptrdiff_t>(2 * peers), after.end(), 0U);
  EXPECT(download(flags, after.size()) == after);
  for (T* part : parts) OK(cudaFree(part - shift));
  OK(cudaFree(flags));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(writer));
}

template <class T>
void sums_of_all_sizes(DType type) {
  for (int targets : {0, 3}) {
    for (size_t count : {1, 7, 8, 4096, 70'001, 2'000'000}) {
      check_sum<T>(type, {.ranks = 4, .local = 1, .count = count, .targets = targets});
    }
    for (size_t shift : {1, 2, 3}) {
      check_sum<T>(type,
                   {.ranks = 4, .local = 0, .count = 1003, .shift = shift, .targets = targets});
    }
    check_sum<T>(type, {.ranks = 4, .local = 2, .count = 4000, .chunks = 4, .targets = targets});
    // More flags than one kernel accepts.
    check_sum<T>(type, {.ranks = 4, .local = 2, .count = 6400, .chunks = 100, .targets = targets});
  }
  for (int ranks : {1, 2, 5, 9}) {
    check_sum<T>(type, {.ranks = ranks, .local = ranks - 1, .count = 1000});
    check_sum<T>(type, {.ranks = ranks, .local = 0, .count = 1000, .targets = ranks - 1});
  }
  check_sum<T>(type, {.ranks = 4, .local = 3, .count = 1000, .targets = 1});
}

void what_is_no_sum() {
  auto* data = upload(std::vector<float>(100));
  auto* flags = upload(std::vector<uint32_t>{5, 5, 0});
  const TransferFlags transfer{address(flags), address(flags + 1), flags + 2, {5, nullptr}};
  const auto throws = [](auto run) {
    try {
      run();
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  PeerReadReduction gap(0, data, DType::kFp32), small(0, data, DType::kFp32),
      many(0, data, DType::kFp32);
  gap.add(1, data + 10, 10, transfer);
  EXPECT(throws([&] { gap.add(1, data + 30, 10, transfer); }));
  small.add(1, data + 10, 10, transfer);
  EXPECT(throws([&] { small.submit(data + 50, 20, nullptr, kWhere); }));
  PeerReadReduction apart(0, data, DType::kFp32), short_target(0, data, DType::kFp32);
  apart.store(1, data + 10, 10, transfer);
  EXPECT(throws([&] { apart.store(1, data + 30, 10, transfer); }));
  short_target.store(1, data + 10, 10, transfer);
  EXPECT(throws([&] { short_target.submit(data + 50, 20, nullptr, kWhere); }));
  for (int rank = 1; rank < 65; ++rank) many.add(rank, data + 10, 10, transfer);
  EXPECT(throws([&] { many.submit(data + 50, 10, nullptr, kWhere); }));
  OK(cudaFree(data));
  OK(cudaFree(flags));
}

constexpr uint32_t kCalls = 16;

/// One call: sets the ready flags of a source and a target for every peer, sums the sources of all
/// ranks, writes the sum to the peers' targets and waits until all peers have read and written.
template <class T>
void sum_of_call(const Exchange& x, size_t count, DType type, SequenceNumber sequence,
                 cudaStream_t stream) {
  const int me = x.rank.rank;
  flags_with_all(FlagKernel(FlagUse::kWrite), x, true, 0, sequence, stream);
  flags_with_all(FlagKernel(FlagUse::kWrite), x, true, 3, sequence, stream);
  PeerReadReduction sum(me, x.source(me, me), type);
  for (int step = 1; step < x.rank.size; ++step) {
    const int peer = (me + x.rank.size - step) % x.rank.size;
    sum.add(peer, x.source(peer, me), static_cast<int64_t>(count), x.flags(peer, sequence));
    sum.store(peer, x.result(peer, me), static_cast<int64_t>(count), x.flags(peer, sequence, 3));
  }
  sum.submit(x.result(me, me), static_cast<int64_t>(count), stream, kWhere);
  flags_with_all(FlagKernel(FlagUse::kWait), x, false, 1, sequence, stream);
  flags_with_all(FlagKernel(FlagUse::kWait), x, false, 4, sequence, stream);
}

/// Consecutive calls without the host in between, each with other data; with `graph`, launches of
/// one graph.
template <class T>
void calls_in_a_row(int size, size_t count, DType type, bool graph) {
  run_ranks(size, [&](const Rank& rank) {
    Exchange x(rank, count * sizeof(T));
    cudaStream_t stream = make_stream();
    auto* counter = upload(std::vector<uint32_t>{Exchange::start});
    cudaGraphExec_t exec = nullptr;
    if (graph) {
      cudaGraph_t captured = nullptr;
      OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      launch_counts({counter}, stream, kWhere);
      sum_of_call<T>(x, count, type, {0, counter}, stream);
      OK(cudaStreamEndCapture(stream, &captured));
      OK(cudaGraphInstantiate(&exec, captured, 0));
      OK(cudaGraphDestroy(captured));
    }
    const auto ranks = static_cast<size_t>(size);
    std::vector<T*> inputs;
    for (uint32_t call = 0; call < kCalls; ++call) {
      inputs.push_back(upload(elements_of<T>(rank.rank, call, 0, ranks * count)));
    }
    T* kept = upload(std::vector<T>(kCalls * ranks * count));
    rank.barrier();
    for (uint32_t call = 0; call < kCalls; ++call) {
      OK(cudaMemcpyAsync(x.source(rank.rank, 0), inputs[call], ranks * count * sizeof(T),
                         cudaMemcpyDeviceToDevice, stream));
      if (graph) {
        OK(cudaGraphLaunch(exec, stream));
      } else {
        sum_of_call<T>(x, count, type, {Exchange::start + 1 + call, nullptr}, stream);
      }
      OK(cudaMemcpyAsync(kept + call * ranks * count, x.result(rank.rank, 0),
                         ranks * count * sizeof(T), cudaMemcpyDeviceToDevice, stream));
    }
    OK(cudaStreamSynchronize(stream));
    for (uint32_t call = 0; call < kCalls; ++call) {
      std::vector<std::vector<T>> whole;
      for (int r = 0; r < size; ++r) whole.push_back(elements_of<T>(r, call, 0, ranks * count));
      EXPECT(same(download(kept + call * ranks * count, ranks * count), sum_of(whole)));
    }
    if (graph) OK(cudaGraphExecDestroy(exec));
  });
}

}  // namespace

int main(int argc, char** argv) {
  using bf16 = __nv_bfloat16;
  return run_cases(
      argc, argv,
      {
          {"fp32", [] { sums_of_all_sizes<float>(DType::kFp32); }},
          {"fp16", [] { sums_of_all_sizes<__half>(DType::kFp16); }},
          {"bf16", [] { sums_of_all_sizes<bf16>(DType::kBf16); }},
          {"what_is_no_sum", what_is_no_sum},
          {"calls_2", [] { calls_in_a_row<bf16>(2, 300'000, DType::kBf16, false); }},
          {"calls_4", [] { calls_in_a_row<float>(4, 1001, DType::kFp32, false); }},
          {"calls_4_large", [] { calls_in_a_row<bf16>(4, 100'000, DType::kBf16, false); }},
          {"graph_2", [] { calls_in_a_row<__half>(2, 1000, DType::kFp16, true); }},
          {"graph_4", [] { calls_in_a_row<bf16>(4, 50'000, DType::kBf16, true); }},
      });
}
