// Stream capture and graphs.
#include <cuda_runtime.h>
#include <nccl.h>

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

/// Nothing runs while it is captured; every launch runs all of it.
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

/// Work forked to another stream by an event and joined by another one.
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

/// A graph launched on two streams in turn never runs beside itself, and orders as stream work.
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

void unjoined_work_is_an_error() {
  cudaStream_t main = make_stream(), side = make_stream();
  cudaEvent_t fork = make_event();
  int* a = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemsetAsync(a, 1, sizeof(int), main));
  OK(cudaEventRecord(fork, main));
  OK(cudaStreamWaitEvent(side, fork, 0));
  OK(cudaMemsetAsync(a, 2, sizeof(int), side));
  cudaGraph_t graph = nullptr;
  EXPECT_STATUS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(main, &graph));
  EXPECT(graph == nullptr);
  static_cast<void>(cudaGetLastError());
}

void synchronising_breaks_a_capture() {
  cudaStream_t stream = make_stream();
  int* a = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemsetAsync(a, 1, sizeof(int), stream));
  EXPECT_STATUS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  cudaGraph_t graph = nullptr;
  EXPECT_STATUS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  static_cast<void>(cudaGetLastError());
  OK(cudaMemsetAsync(a, 1, sizeof(int), stream));
  OK(cudaStreamSynchronize(stream));
}

void events_from_outside_are_refused() {
  cudaStream_t stream = make_stream(), other = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaEventRecord(event, other));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_STATUS(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, event, 0));
  cudaGraph_t graph = nullptr;
  EXPECT_STATUS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  static_cast<void>(cudaGetLastError());
}

/// The legacy default stream would wait for a blocking stream; a question about it breaks nothing.
void default_stream_beside_a_capture() {
  cudaStreamCaptureStatus status{};
  for (const bool blocking : {true, false}) {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreateWithFlags(&stream, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(blocking ? cudaErrorStreamCaptureImplicit : cudaSuccess,
                  cudaStreamIsCapturing(nullptr, &status));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
  }
  OK(cudaStreamIsCapturing(nullptr, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
}

void captured_event_cannot_be_queried() {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaEventRecord(event, stream));
  EXPECT_STATUS(cudaErrorCapturedEvent, cudaEventQuery(event));
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream, &graph));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaEventQuery(event));
  EXPECT_STATUS(cudaErrorInvalidValue, cudaEventSynchronize(event));
  static_cast<void>(cudaGetLastError());
  OK(cudaEventRecord(event, stream));
  OK(cudaEventSynchronize(event));
}

/// Allocating is refused while the thread captures, except in relaxed mode.
void unsafe_calls() {
  cudaStream_t stream = make_stream();
  void* data = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  OK(cudaMalloc(&data, 16));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_STATUS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&data, 16));
  EXPECT_STATUS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  static_cast<void>(cudaGetLastError());
}

/// A thread that says so is not bound by the captures of other threads.
void unsafe_calls_of_a_relaxed_thread() {
  cudaStream_t stream = make_stream();
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::thread([] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal);
    void* data = nullptr;
    OK(cudaMalloc(&data, 16));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeRelaxed);
  }).join();
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
}

/// An all-reduce on a forked stream, between two fills, launched several times.
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

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"linear", linear},
                       {"fork_and_join", fork_and_join},
                       {"launches_in_order", launches_in_order},
                       {"unjoined_work_is_an_error", unjoined_work_is_an_error},
                       {"synchronising_breaks_a_capture", synchronising_breaks_a_capture},
                       {"events_from_outside_are_refused", events_from_outside_are_refused},
                       {"captured_event_cannot_be_queried", captured_event_cannot_be_queried},
                       {"default_stream_beside_a_capture", default_stream_beside_a_capture},
                       {"unsafe_calls", unsafe_calls},
                       {"unsafe_calls_of_a_relaxed_thread", unsafe_calls_of_a_relaxed_thread},
                       {"collective_in_a_graph_1", [] { collective_in_a_graph(1); }},
                       {"collective_in_a_graph_2", [] { collective_in_a_graph(2); }},
                   });
}
