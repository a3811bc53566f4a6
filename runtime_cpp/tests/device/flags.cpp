// Tests of flags, which the runtime awaits and writes by batched stream memory operations and by
// kernels.
#include "flags.hpp"

#include <cstdint>
#include <vector>

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/flags.cpp";

/// The number of flags of a group: more than one driver call accepts (255).
constexpr size_t kFlags = 300;

/// Waits for the flags of a group. The wait must end when the last flag is set, and not earlier.
template <class Group>
void await_all(Group waits, uint32_t number) {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* flags = upload(std::vector<uint32_t>(kFlags, number - 1));
  auto* after = upload(std::vector<uint32_t>{0});
  for (size_t i = 0; i < kFlags; ++i) waits.add(address(flags + i), {number, nullptr});
  waits.submit(waiter, kWhere);
  OK(cudaMemsetAsync(after, 1, sizeof(uint32_t), waiter));
  for (size_t i = 0; i < kFlags; ++i) {
    if (i != 7) OK(driver().cuStreamWriteValue32(writer, address(flags + i), number, 0));
  }
  OK(cudaStreamSynchronize(writer));
  EXPECT(is_blocked(waiter));
  // A number beyond the awaited one ends the wait, too.
  OK(driver().cuStreamWriteValue32(writer, address(flags + 7), number + 3, 0));
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(after, 1)[0] == 0x01010101);
}

template <class Group>
void write_all(Group writes, uint32_t number) {
  cudaStream_t stream = make_stream();
  auto* flags = upload(std::vector<uint32_t>(kFlags, number - 1));
  for (size_t i = 0; i < kFlags; ++i) writes.add(address(flags + i), {number, nullptr});
  writes.submit(stream, kWhere);
  OK(cudaStreamSynchronize(stream));
  EXPECT(download(flags, kFlags) == std::vector<uint32_t>(kFlags, number));
}

void batches_of_flags() {
  for (uint32_t number : {1U, 0U, 0x80000000U}) {
    await_all(MemOpBatch(FlagUse::kWait, driver()), number);
    write_all(MemOpBatch(FlagUse::kWrite, driver()), number);
  }
}

void kernels_on_flags() {
  for (uint32_t number : {1U, 0U, 0x80000000U}) {
    await_all(FlagKernel(FlagUse::kWait), number);
    write_all(FlagKernel(FlagUse::kWrite), number);
  }
}

/// A stream memory operation waits for a flag that a kernel sets, and a kernel waits for a flag
/// that an operation sets.
void operations_and_kernels_understand_each_other() {
  cudaStream_t a = make_stream(), b = make_stream();
  auto* flags = upload(std::vector<uint32_t>{0, 0});
  for (uint32_t i = 1; i <= 50; ++i) {
    launch_flag_write(address(flags), {i, nullptr}, a, kWhere);
    launch_flag_wait(address(flags + 1), {i, nullptr}, a, kWhere);
    OK(driver().cuStreamWaitValue32(b, address(flags), i, CU_STREAM_WAIT_VALUE_GEQ));
    OK(driver().cuStreamWriteValue32(b, address(flags + 1), i, 0));
  }
  OK(cudaStreamSynchronize(a));
  OK(cudaStreamSynchronize(b));
  EXPECT(download(flags, 2) == (std::vector<uint32_t>{50, 50}));
}

/// In a graph the sequence number is in device memory, and every launch increments it.
void counted_by_the_device() {
  cudaStream_t stream = make_stream(), writer = make_stream();
  auto* flags = upload(std::vector<uint32_t>{0, 0, 0});
  const SequenceNumber sequence{0, flags + 2};
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_counts({flags + 2}, stream, kWhere);
  launch_flag_wait(address(flags), sequence, stream, kWhere);
  launch_flag_write(address(flags + 1), sequence, stream, kWhere);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (uint32_t round = 1; round <= 3; ++round) {
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(is_blocked(stream));
    OK(driver().cuStreamWriteValue32(writer, address(flags), round, 0));
    OK(cudaStreamSynchronize(stream));
    EXPECT(download(flags + 1, 1)[0] == round);
  }
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"batches_of_flags", batches_of_flags},
                       {"kernels_on_flags", kernels_on_flags},
                       {"operations_and_kernels_understand_each_other",
                        operations_and_kernels_understand_each_other},
                       {"counted_by_the_device", counted_by_the_device},
                   });
}
