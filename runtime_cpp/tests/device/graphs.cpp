// Tests of graphs: the work that a launch runs, and its order.
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  return exec;
}

void copy_word(int* to, const int* from, cudaStream_t stream) {
  OK(cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDeviceToDevice, stream));
}

/// Captured work does not run during the capture; every launch runs all of it.
void linear() {
  cudaStream_t stream = make_stream();
  int *a = upload(std::vector<int>{1}), *b = upload(std::vector<int>{0}),
      *c = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  copy_word(b, a, stream);
  copy_word(c, b, stream);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  EXPECT(download(c, 1)[0] == 0);
  cudaGraphExec_t exec = instantiate(graph);
  for (int round = 1; round < 5; ++round) {
    OK(cudaMemsetAsync(a, round, sizeof(int), stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(download(c, 1)[0] == round * 0x01010101);
  }
  OK(cudaGraphExecDestroy(exec));
}

/// A user object lives until its graph and the executable graph are both destroyed.
void user_objects() {
  cudaStream_t stream = make_stream();
  std::atomic<int> ended{0};
  const auto end = [](void* counter) { static_cast<std::atomic<int>*>(counter)->fetch_add(1); };
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
#else
  OK(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr));
#endif
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaUserObject_t object = nullptr;
  OK(cudaUserObjectCreate(&object, &ended, end, 1, cudaUserObjectNoDestructorSync));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraph_t captured = nullptr;
  OK(cudaStreamEndCapture(stream, &captured));
  EXPECT(captured == graph);
  cudaGraphExec_t exec = instantiate(graph);
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(ended == 0);
  OK(cudaGraphExecDestroy(exec));
  for (int i = 0; i < 1000 && ended == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT(ended == 1);
}

/// Work that one event forks to another stream, and a second event joins.
void fork_and_join() {
  cudaStream_t main = make_stream(), side = make_stream();
  cudaEvent_t fork = make_event(), join = make_event();
  int *a = upload(std::vector<int>{0}), *b = upload(std::vector<int>{0}),
      *c = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemsetAsync(a, 1, sizeof(int), main));
  OK(cudaEventRecord(fork, main));
  OK(cudaStreamWaitEvent(side, fork, 0));
  copy_word(b, a, side);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  OK(cudaEventRecord(join, side));
  OK(cudaStreamWaitEvent(main, join, 0));
  copy_word(c, b, main);
  OK(cudaMemsetAsync(b, 0, sizeof(int), main));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(main, &graph));
  OK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  cudaGraphExec_t exec = instantiate(graph);
  for (int round = 0; round < 10; ++round) {
    OK(cudaMemsetAsync(c, 0, sizeof(int), main));
    OK(cudaGraphLaunch(exec, main));
    OK(cudaStreamSynchronize(main));
    EXPECT(download(c, 1)[0] == 0x01010101);
  }
  // The streams are free for ordinary work again.
  OK(cudaMemsetAsync(a, 2, sizeof(int), side));
  OK(cudaStreamSynchronize(side));
}

/// Launches of a graph on two streams never overlap.
void launches_in_order() {
  cudaStream_t first = make_stream(), second = make_stream();
  int *a = upload(std::vector<int>{0}), *b = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemsetAsync(a, 5, sizeof(int), first));
  copy_word(b, a, first);
  OK(cudaMemsetAsync(a, 0, sizeof(int), first));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(first, &graph));
  cudaGraphExec_t exec = instantiate(graph);
  for (int i = 0; i < 20; ++i) OK(cudaGraphLaunch(exec, i % 2 == 0 ? first : second));
  OK(cudaDeviceSynchronize());
  EXPECT(download(b, 1)[0] == 0x05050505);
}

/// An all-reduce on a forked stream, between a fill and a copy, launched several times.
void collective_in_a_graph(int size) {
  run_ranks(size, [](const Rank& rank) {
    ncclComm_t comm = make_comm(rank);
    cudaStream_t main = make_stream(), side = make_stream();
    cudaEvent_t fork = make_event(), join = make_event();
    int *in = upload(std::vector<int>{0}), *out = upload(std::vector<int>{0}),
        *result = upload(std::vector<int>{0});
    OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(in, rank.rank + 1, 1, main));
    OK(cudaEventRecord(fork, main));
    OK(cudaStreamWaitEvent(side, fork, 0));
    OK(ncclAllReduce(in, out, 1, ncclInt32, ncclSum, comm, side));
    OK(cudaEventRecord(join, side));
    OK(cudaStreamWaitEvent(main, join, 0));
    copy_word(result, out, main);
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(main, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int round = 0; round < 5; ++round) {
      OK(cudaMemsetAsync(result, 0, sizeof(int), main));
      OK(cudaGraphLaunch(exec, main));
      OK(cudaStreamSynchronize(main));
      EXPECT(download(result, 1)[0] == rank.size * (rank.size + 1) / 2);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(ncclCommDestroy(comm));
  });
}

/// An event may be recorded again in a capture: each wait is for the last record before it.
void recorded_again_while_captured() {
  cudaStream_t main = make_stream(), side = make_stream();
  cudaEvent_t event = make_event();
  int* words = upload(std::vector<int>{0, 0, 0});
  OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemsetAsync(words, 1, sizeof(int), main));
  for (int i = 0; i < 2; ++i) {
    OK(cudaEventRecord(event, main));
    OK(cudaStreamWaitEvent(side, event, 0));
    copy_word(words + i + 1, words + i, side);
    OK(cudaEventRecord(event, side));
    OK(cudaStreamWaitEvent(main, event, 0));
  }
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(main, &graph));
  cudaGraphExec_t exec = instantiate(graph);
  for (int round = 0; round < 10; ++round) {
    OK(cudaMemsetAsync(words, 0, 3 * sizeof(int), main));
    OK(cudaGraphLaunch(exec, main));
    EXPECT(download(words, 3) == std::vector<int>(3, 0x01010101));
  }
  OK(cudaGraphExecDestroy(exec));
}

/// A graph is launched repeatedly without a wait of the host. Each launch sees the results of the
/// previous one. Later work on the stream, and work that waits for an event there, sees all
/// results.
void launches_in_a_row() {
  constexpr size_t kWords = 64;
  cudaStream_t stream = make_stream(), other = make_stream();
  cudaEvent_t done = make_event();
  std::vector<int> numbers(kWords);
  for (size_t i = 0; i < kWords; ++i) numbers[i] = static_cast<int>(i);
  int *words = upload(numbers), *moved = upload(numbers), *seen = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemcpyAsync(moved, words + 1, (kWords - 1) * sizeof(int), cudaMemcpyDeviceToDevice,
                     stream));
  OK(cudaMemcpyAsync(words, moved, kWords * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = instantiate(graph);
  constexpr int kLaunches = 50;
  for (int i = 0; i < kLaunches; ++i) OK(cudaGraphLaunch(exec, stream));
  OK(cudaEventRecord(done, stream));
  OK(cudaStreamWaitEvent(other, done, 0));
  copy_word(seen, words, other);
  EXPECT(download(seen, 1)[0] == kLaunches);
  OK(cudaGraphExecDestroy(exec));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"linear", linear},
                       {"user_objects", user_objects},
                       {"fork_and_join", fork_and_join},
                       {"launches_in_order", launches_in_order},
                       {"collective_in_a_graph_1", [] { collective_in_a_graph(1); }},
                       {"collective_in_a_graph_2", [] { collective_in_a_graph(2); }},
                       {"recorded_again_while_captured", recorded_again_while_captured},
                       {"launches_in_a_row", launches_in_a_row},
                   });
}
