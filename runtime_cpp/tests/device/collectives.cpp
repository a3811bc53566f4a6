// Tests of NCCL collectives: types, sizes, reductions, calls in place, completion and order, and
// refused arguments.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

/// Small integers, exact in every type, that differ between adjacent ranks.
int value_of(int rank, size_t i) { return 1 + (rank * 7 + static_cast<int>(i % 13)) % 3; }

int expected_of(ncclRedOp_t op, int ranks, size_t i) {
  int result = value_of(0, i);
  for (int r = 1; r < ranks; ++r) {
    int value = value_of(r, i);
    result = op == ncclSum    ? result + value
             : op == ncclProd ? result * value
             : op == ncclMax  ? std::max(result, value)
                              : std::min(result, value);
  }
  return result;
}

template <class T>
T make(int value) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(static_cast<float>(value));
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16(static_cast<float>(value));
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
}

template <class T>
double value(T element) {
  if constexpr (std::is_same_v<T, __half>) return __half2float(element);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(element);
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(element);
}

/// The objects that one rank needs for a case.
struct Setup {
  explicit Setup(const Rank& rank) : rank(rank), comm(make_comm(rank)), stream(make_stream()) {}
  ~Setup() {
    OK(cudaStreamSynchronize(stream));
    OK(ncclCommDestroy(comm));
  }
  template <class T>
  T* input(size_t count) const {
    std::vector<T> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = make<T>(value_of(rank.rank, i));
    return upload(values);
  }
  size_t ranks() const { return static_cast<size_t>(rank.size); }

  const Rank& rank;
  ncclComm_t comm;
  cudaStream_t stream;
};

template <class T, class Expected>
void expect_values(const T* data, size_t count, Expected expected, const char* what) {
  std::vector<T> got = download(data, count);
  for (size_t i = 0; i < count; ++i) {
    if (value(got[i]) == expected(i)) continue;
    return fail(__FILE__, __LINE__,
                std::string(what) + ": element " + std::to_string(i) + " is " +
                    std::to_string(value(got[i])) + ", not " + std::to_string(expected(i)));
  }
}

template <class T>
void gathers(const Setup& s, ncclDataType_t type, size_t count) {
  T* in = s.input<T>(count);
  T* out = upload(std::vector<T>(count * s.ranks()));
  OK(ncclAllGather(in, out, count, type, s.comm, s.stream));
  auto gathered = [&](size_t i) { return value_of(static_cast<int>(i / count), i % count); };
  expect_values(out, count * s.ranks(), gathered, "all-gather");
  T* own = out + static_cast<size_t>(s.rank.rank) * count;
  OK(cudaMemset(out, 0, count * s.ranks() * sizeof(T)));
  OK(cudaMemcpy(own, in, count * sizeof(T), cudaMemcpyDeviceToDevice));
  OK(cudaDeviceSynchronize());
  OK(ncclAllGather(own, out, count, type, s.comm, s.stream));
  expect_values(out, count * s.ranks(), gathered, "all-gather in place");
  int root = s.rank.size - 1;
  OK(ncclBroadcast(in, out, count, type, root, s.comm, s.stream));
  auto from_root = [&](size_t i) { return value_of(root, i); };
  expect_values(out, count, from_root, "broadcast");
  OK(ncclBroadcast(in, in, count, type, root, s.comm, s.stream));
  expect_values(in, count, from_root, "broadcast in place");
  OK(cudaFree(in));
  OK(cudaFree(out));
}

template <class T>
void reductions(const Setup& s, ncclDataType_t type, ncclRedOp_t op, size_t count) {
  size_t whole = count * s.ranks();
  T* in = s.input<T>(whole);
  T* out = upload(std::vector<T>(whole));
  auto reduced = [&](size_t i) { return expected_of(op, s.rank.size, i); };
  OK(ncclAllReduce(in, out, whole, type, op, s.comm, s.stream));
  expect_values(out, whole, reduced, "all-reduce");
  size_t first = static_cast<size_t>(s.rank.rank) * count;
  auto mine = [&](size_t i) { return reduced(first + i); };
  OK(ncclReduceScatter(in, out, count, type, op, s.comm, s.stream));
  expect_values(out, count, mine, "reduce-scatter");
  OK(ncclReduce(in, out, whole, type, op, 0, s.comm, s.stream));
  if (s.rank.rank == 0) expect_values(out, whole, reduced, "reduce");
  // The same in place. The reduce-scatter comes last, because it overwrites a part of the input.
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(out, in, whole * sizeof(T), cudaMemcpyDeviceToDevice));
  OK(cudaDeviceSynchronize());
  OK(ncclAllReduce(out, out, whole, type, op, s.comm, s.stream));
  expect_values(out, whole, reduced, "all-reduce in place");
  OK(ncclReduceScatter(in, in + first, count, type, op, s.comm, s.stream));
  expect_values(in + first, count, mine, "reduce-scatter in place");
  OK(cudaFree(in));
  OK(cudaFree(out));
}

/// The max or min of NaN and a number is the number, in any order of the ranks.
template <class T>
void dropped_nan(const Setup& s, ncclDataType_t type, T nan) {
  std::vector<T> values(s.ranks(), nan);
  values[static_cast<size_t>(s.rank.rank)] = make<T>(2);
  T* in = upload(values);
  T* out = upload(values);
  for (ncclRedOp_t op : {ncclMax, ncclMin}) {
    OK(ncclAllReduce(in, out, s.ranks(), type, op, s.comm, s.stream));
    expect_values(out, s.ranks(), [](size_t) { return 2; }, "NaN in an all-reduce");
  }
  OK(cudaFree(in));
  OK(cudaFree(out));
}

void not_numbers() {
  run_ranks(3, [](const Rank& rank) {
    Setup s(rank);
    dropped_nan(s, ncclFloat32, NAN);
    dropped_nan(s, ncclFloat16, __float2half(NAN));
    dropped_nan(s, ncclBfloat16, __float2bfloat16(NAN));
    dropped_nan(s, ncclFloat64, std::nan(""));
  });
}

template <class T>
void all_of_type(const Setup& s, ncclDataType_t type) {
  gathers<T>(s, type, 1000);
  for (ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
    if (op == ncclProd && s.rank.size > 4) continue;  // overflows 8-bit types
    reductions<T>(s, type, op, 333);
  }
}

void all_types(int size) {
  run_ranks(size, [](const Rank& rank) {
    Setup s(rank);
    all_of_type<float>(s, ncclFloat32);
    all_of_type<__half>(s, ncclFloat16);
    all_of_type<__nv_bfloat16>(s, ncclBfloat16);
    all_of_type<int32_t>(s, ncclInt32);
    all_of_type<int8_t>(s, ncclInt8);
    all_of_type<uint8_t>(s, ncclUint8);
    all_of_type<uint32_t>(s, ncclUint32);
    all_of_type<int64_t>(s, ncclInt64);
    all_of_type<uint64_t>(s, ncclUint64);
    all_of_type<double>(s, ncclFloat64);
  });
}

void sizes(int size) {
  run_ranks(size, [](const Rank& rank) {
    Setup s(rank);
    for (size_t count : {size_t{1}, size_t{2}, size_t{7}, size_t{100003}}) {
      gathers<float>(s, ncclFloat32, count);
      reductions<float>(s, ncclFloat32, ncclSum, count);
    }
  });
}

/// No rank's collective completes before the last rank has issued it.
void rendezvous() {
  run_ranks(2, [](const Rank& rank) {
    Setup s(rank);
    int* in = upload(std::vector<int>{1});
    int* out = upload(std::vector<int>{0, 0});
    OK(ncclAllReduce(in, out, 1, ncclInt32, ncclSum, s.comm, s.stream));  // connects the ranks
    OK(cudaStreamSynchronize(s.stream));
    auto& issued = *static_cast<std::atomic<int>*>(rank.memory);
    rank.barrier();
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      issued.store(1);
    }
    OK(ncclAllGather(in, out, 1, ncclInt32, s.comm, s.stream));
    OK(cudaStreamSynchronize(s.stream));
    EXPECT(issued.load() == 1);
  });
}

/// Operations of one communicator run in issue order, also when they are on different streams.
void issue_order_across_streams() {
  run_ranks(2, [](const Rank& rank) {
    Setup s(rank);
    cudaStream_t other = make_stream();
    int* a = upload(std::vector<int>{rank.rank + 1});
    int* b = upload(std::vector<int>{0});
    for (int round = 0; round < 20; ++round) {
      bool swap = round % 2 == 1;
      OK(ncclAllReduce(a, b, 1, ncclInt32, ncclSum, s.comm, swap ? other : s.stream));
      OK(ncclAllReduce(b, b, 1, ncclInt32, ncclSum, s.comm, swap ? s.stream : other));
    }
    OK(cudaStreamSynchronize(other));
    EXPECT(download(b, 1)[0] == 6);
  });
}

/// Buffers are written and read in stream order on every rank, many times, without a wait of the
/// host.
void stream_order(int size) {
  run_ranks(size, [](const Rank& rank) {
    Setup s(rank);
    constexpr size_t kCount = 4096;
    constexpr int kRounds = 20;
    char* in = upload(std::vector<char>(kCount));
    const size_t ranks = s.ranks();
    char* out = upload(std::vector<char>(kCount * ranks));
    char* kept = upload(std::vector<char>(kRounds * ranks));
    for (int round = 0; round < kRounds; ++round) {
      OK(cudaMemsetAsync(in, round * rank.size + rank.rank, kCount, s.stream));
      OK(ncclAllGather(in, out, kCount, ncclInt8, s.comm, s.stream));
      for (size_t r = 0; r < ranks; ++r) {
        OK(cudaMemcpyAsync(kept + static_cast<size_t>(round) * ranks + r, out + r * kCount + r, 1,
                           cudaMemcpyDeviceToDevice, s.stream));
      }
    }
    std::vector<char> got = download(kept, kRounds * ranks);
    for (size_t i = 0; i < got.size(); ++i) EXPECT(got[i] == static_cast<char>(i));
  });
}

void bad_arguments() {
  run_ranks(1, [](const Rank& rank) {
    Setup s(rank);
    int* data = upload(std::vector<int>{1, 2});
    EXPECT_STATUS(ncclInvalidArgument,
                  ncclBroadcast(data, data, 1, ncclInt32, 1, s.comm, s.stream));
    EXPECT_STATUS(ncclInvalidArgument, ncclSend(data, 1, ncclInt32, 7, s.comm, s.stream));
    EXPECT_STATUS(ncclInvalidArgument,
                  ncclAllGather(data, data, 1, static_cast<ncclDataType_t>(15), s.comm, s.stream));
#ifdef HIRGEN_CPU_DEVICE
    char* inside = reinterpret_cast<char*>(data) + 2;
    EXPECT_STATUS(ncclInvalidArgument, ncclAllGather(inside, data, 1, ncclInt32, s.comm, s.stream));
    EXPECT_STATUS(ncclInvalidArgument,
                  ncclAllReduce(data, inside, 1, ncclInt32, ncclSum, s.comm, s.stream));
#endif
    OK(ncclAllGather(data, data, 1, ncclInt32, s.comm, s.stream));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"all_types_1", [] { all_types(1); }},
                       {"all_types_2", [] { all_types(2); }},
                       {"all_types_8", [] { all_types(8); }},
                       {"not_numbers", not_numbers},
                       {"sizes_2", [] { sizes(2); }},
                       {"sizes_3", [] { sizes(3); }},
                       {"rendezvous", rendezvous},
                       {"issue_order_across_streams", issue_order_across_streams},
                       {"stream_order_2", [] { stream_order(2); }},
                       {"stream_order_4", [] { stream_order(4); }},
                       {"bad_arguments", bad_arguments},
                   });
}
