// Words of memory that order streams, as the runtime waits for them and writes them: by stream
// memory operations in batches, and by kernels.
#include "words.hpp"

#include <cstdint>
#include <vector>

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "device/words.cpp";

/// Words that a group waits for, or writes: as many as no single operation holds.
constexpr size_t kWords = 300;

/// Waits for the words in a group, which must end with the last of them and not before.
template <class Group>
void await_all(Group waits, uint32_t number) {
  cudaStream_t waiter = make_stream(), writer = make_stream();
  auto* words = upload(std::vector<uint32_t>(kWords, number - 1));
  auto* after = upload(std::vector<uint32_t>{0});
  for (size_t i = 0; i < kWords; ++i) waits.add(address(words + i), {number, nullptr});
  waits.submit(waiter, kWhere);
  OK(cudaMemsetAsync(after, 1, sizeof(uint32_t), waiter));
  for (size_t i = 0; i < kWords; ++i) {
    if (i != 7) OK(driver().cuStreamWriteValue32(writer, address(words + i), number, 0));
  }
  OK(cudaStreamSynchronize(writer));
  EXPECT(is_blocked(waiter));
  OK(driver().cuStreamWriteValue32(writer, address(words + 7), number + 3, 0));  // later will do
  OK(cudaStreamSynchronize(waiter));
  EXPECT(download(after, 1)[0] == 0x01010101);
}

template <class Group>
void write_all(Group writes, uint32_t number) {
  cudaStream_t stream = make_stream();
  auto* words = upload(std::vector<uint32_t>(kWords, number - 1));
  for (size_t i = 0; i < kWords; ++i) writes.add(address(words + i), {number, nullptr});
  writes.submit(stream, kWhere);
  OK(cudaStreamSynchronize(stream));
  EXPECT(download(words, kWords) == std::vector<uint32_t>(kWords, number));
}

void batches_of_words() {
  for (uint32_t number : {1U, 0U, 0x80000000U}) {
    await_all(WordBatch(WordUse::kAwait, driver()), number);
    write_all(WordBatch(WordUse::kWrite, driver()), number);
  }
}

void kernels_on_words() {
  for (uint32_t number : {1U, 0U, 0x80000000U}) {
    await_all(WordKernel(WordUse::kAwait), number);
    write_all(WordKernel(WordUse::kWrite), number);
  }
}

/// A signal that a kernel gives is what a memory operation waits for, and the other way round.
void operations_and_kernels_understand_each_other() {
  cudaStream_t a = make_stream(), b = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0});
  for (uint32_t i = 1; i <= 50; ++i) {
    launch_write(address(words), {i, nullptr}, a, kWhere);
    launch_await(address(words + 1), {i, nullptr}, a, kWhere);
    OK(driver().cuStreamWaitValue32(b, address(words), i, CU_STREAM_WAIT_VALUE_GEQ));
    OK(driver().cuStreamWriteValue32(b, address(words + 1), i, 0));
  }
  OK(cudaStreamSynchronize(a));
  OK(cudaStreamSynchronize(b));
  EXPECT(download(words, 2) == (std::vector<uint32_t>{50, 50}));
}

/// In a graph the number of the call is in device memory, and every launch counts it.
void counted_by_the_device() {
  cudaStream_t stream = make_stream(), writer = make_stream();
  auto* words = upload(std::vector<uint32_t>{0, 0, 0});
  const CallNumber call{0, words + 2};
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_count(words + 2, stream, kWhere);
  launch_await(address(words), call, stream, kWhere);
  launch_write(address(words + 1), call, stream, kWhere);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (uint32_t round = 1; round <= 3; ++round) {
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(is_blocked(stream));
    OK(driver().cuStreamWriteValue32(writer, address(words), round, 0));
    OK(cudaStreamSynchronize(stream));
    EXPECT(download(words + 1, 1)[0] == round);
  }
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"batches_of_words", batches_of_words},
                       {"kernels_on_words", kernels_on_words},
                       {"operations_and_kernels_understand_each_other",
                        operations_and_kernels_understand_each_other},
                       {"counted_by_the_device", counted_by_the_device},
                   });
}
