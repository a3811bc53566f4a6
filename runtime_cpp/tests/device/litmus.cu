// Tests of message passing between ranks: a rank that sees a flag also sees all data that was
// written before the flag. Both ranks write to each other and read, round after round, without the
// host in between. The tests cover all combinations of ways to write data, set a flag and wait for
// it.
#include <cstdint>
#include <vector>

#include "exchange.hpp"
#include "hirgen/parallel_for.hpp"

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/litmus.cu";
constexpr int64_t kWords = 1000;
#ifdef HIRGEN_CPU_DEVICE
const uint32_t kRounds = 150;
#else
// On a shared GPU, processes take turns of milliseconds, so that rounds take much longer.
const uint32_t kRounds = gpus_are_shared() ? 150 : 5000;
#endif

struct Fill {
  uint32_t* words;
  uint32_t value;
  HG_HOST_DEVICE void operator()(int64_t i) const { words[i] = value + static_cast<uint32_t>(i); }
};

/// Counts the words that Fill did not write with `value`.
struct Count {
  const uint32_t* words;
  uint32_t value;
  uint32_t* wrong;
  HG_HOST_DEVICE void operator()(int64_t i) const {
    if (words[i] == value + static_cast<uint32_t>(i)) return;
#ifdef __CUDA_ARCH__
    atomicAdd(wrong, 1U);
#else
    ++*wrong;
#endif
  }
};

enum class Writer { kKernel, kCopy, kTransfer };  ///< a transfer also sets the done flag
enum class By { kKernel, kStream };

struct Form {
  Writer data;
  By set, wait;
  bool put;  ///< the data is in the reader's memory; else in the writer's
};

uint32_t* words(char* data) { return reinterpret_cast<uint32_t*>(data); }

void set_flag(By by, CUdeviceptr flag, uint32_t value, cudaStream_t stream) {
  if (by == By::kKernel) return launch_flag_write(flag, {value, nullptr}, stream, kWhere);
  OK(driver().cuStreamWriteValue32(stream, flag, value, 0));
}

void await_flag(By by, CUdeviceptr flag, uint32_t value, cudaStream_t stream) {
  if (by == By::kKernel) return launch_flag_wait(flag, {value, nullptr}, stream, kWhere);
  OK(driver().cuStreamWaitValue32(stream, flag, value, CU_STREAM_WAIT_VALUE_GEQ));
}

/// Enqueues the writer's work of a round: waits until the buffer is free, writes to it, and sets
/// the done flag.
void write_round(const Exchange& x, const Form& form, uint32_t round, uint32_t* scratch,
                 cudaStream_t stream) {
  const int me = x.rank.rank, peer = 1 - me;
  const uint32_t sequence = Exchange::start + round;
  char* place = form.put ? x.result(peer, me) : x.source(me, peer);
  if (form.data != Writer::kKernel) parallel_for(kWords, stream, kWhere, Fill{scratch, round});
  if (form.data == Writer::kTransfer) {
    const TransferFlags flags = x.flags(peer, {sequence, nullptr});
    return launch_transfer(place, scratch, x.shard, flags, stream, kWhere);
  }
  await_flag(form.wait, x.flag(me, 0, peer), sequence, stream);
  if (form.data == Writer::kKernel) {
    parallel_for(kWords, stream, kWhere, Fill{words(place), round});
  } else {
    OK(cudaMemcpyAsync(place, scratch, x.shard, cudaMemcpyDeviceToDevice, stream));
  }
  set_flag(form.set, x.flag(peer, 1, me), sequence, stream);
}

/// Enqueues the reader's work of a round: sets the ready flag, waits for the data, and checks it.
void read_round(const Exchange& x, const Form& form, uint32_t round, uint32_t* wrong,
                cudaStream_t stream) {
  const int me = x.rank.rank, peer = 1 - me;
  const uint32_t sequence = Exchange::start + round;
  set_flag(form.set, x.flag(peer, 0, me), sequence, stream);
  await_flag(form.wait, x.flag(me, 1, peer), sequence, stream);
  char* place = form.put ? x.result(me, peer) : x.source(peer, me);
  parallel_for(kWords, stream, kWhere, Count{words(place), round, wrong});
}

void messages(const Rank& rank, const Form& form) {
  Exchange x(rank, kWords * sizeof(uint32_t));
  cudaStream_t writer = make_stream(), reader = make_stream();
  auto* scratch = upload(std::vector<uint32_t>(kWords));
  auto* wrong = upload(std::vector<uint32_t>{0});
  for (uint32_t round = 1; round <= kRounds; ++round) {
    write_round(x, form, round, scratch, writer);
    read_round(x, form, round, wrong, reader);
  }
  OK(cudaStreamSynchronize(writer));
  EXPECT(download(wrong, 1)[0] == 0);
}

void messages_by(Writer data) {
  run_ranks(2, [&](const Rank& rank) {
    for (const bool put : {true, false}) {
      for (const By set : {By::kKernel, By::kStream}) {
        for (const By wait : {By::kKernel, By::kStream}) messages(rank, {data, set, wait, put});
      }
    }
  });
}

/// One stream writes the data and sets a flag for another stream of its rank, which sets a flag for
/// the peer. A reader that sees the last flag sees all data from before the first.
void passed_on(By by) {
  run_ranks(2, [=](const Rank& rank) {
    Exchange x(rank, kWords * sizeof(uint32_t));
    const int me = rank.rank, peer = 1 - me;
    cudaStream_t writer = make_stream(), teller = make_stream(), reader = make_stream();
    auto* wrong = upload(std::vector<uint32_t>{0});
    for (uint32_t round = 1; round <= kRounds; ++round) {
      const uint32_t sequence = Exchange::start + round;
      await_flag(by, x.flag(me, 0, peer), sequence, writer);
      parallel_for(kWords, writer, kWhere, Fill{words(x.result(peer, me)), round});
      set_flag(by, x.flag(me, 3, peer), sequence, writer);
      await_flag(by, x.flag(me, 3, peer), sequence, teller);
      set_flag(by, x.flag(peer, 1, me), sequence, teller);
      read_round(x, {Writer::kKernel, by, by, true}, round, wrong, reader);
    }
    for (cudaStream_t stream : {writer, teller}) OK(cudaStreamSynchronize(stream));
    EXPECT(download(wrong, 1)[0] == 0);
  });
}

/// A reader never sees a growing flag decrease, and finally sees its last value.
void flags_never_go_back(By by) {
  run_ranks(2, [=](const Rank& rank) {
    Exchange x(rank, sizeof(uint32_t));
    const int me = rank.rank, peer = 1 - me;
    cudaStream_t writer = make_stream(), reader = make_stream();
    const CUdeviceptr mine = x.flag(me, 1, peer);
    auto* seen = upload(std::vector<uint32_t>(kRounds + 1));
    for (uint32_t round = 1; round <= kRounds; ++round) {
      set_flag(by, x.flag(peer, 1, me), Exchange::start + round, writer);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): CUdeviceptr is an integer by definition.
      OK(cudaMemcpyAsync(seen + round - 1, reinterpret_cast<void*>(mine), sizeof(uint32_t),
                         cudaMemcpyDeviceToDevice, reader));
    }
    await_flag(by, mine, Exchange::start + kRounds, reader);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as above.
    OK(cudaMemcpyAsync(seen + kRounds, reinterpret_cast<void*>(mine), sizeof(uint32_t),
                       cudaMemcpyDeviceToDevice, reader));
    OK(cudaStreamSynchronize(writer));
    const std::vector<uint32_t> got = download(seen, kRounds + 1);
    uint32_t last = 0;
    for (const uint32_t value : got) {
      EXPECT(value - Exchange::start <= kRounds && value - Exchange::start >= last);
      last = value - Exchange::start;
    }
    EXPECT(last == kRounds);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"written_by_kernels", [] { messages_by(Writer::kKernel); }},
                       {"written_by_copies", [] { messages_by(Writer::kCopy); }},
                       {"written_by_transfers", [] { messages_by(Writer::kTransfer); }},
                       {"passed_on_by_kernels", [] { passed_on(By::kKernel); }},
                       {"passed_on_by_streams", [] { passed_on(By::kStream); }},
                       {"flags_never_go_back_kernels", [] { flags_never_go_back(By::kKernel); }},
                       {"flags_never_go_back_streams", [] { flags_never_go_back(By::kStream); }},
                   });
}
