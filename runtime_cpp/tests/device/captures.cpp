// Tests of stream capture: the work that it contains, the calls that it refuses, and its end.
#include <cuda_runtime.h>

#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

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

/// cudaStreamIsCapturing of the legacy default stream fails while a blocking stream is captured,
/// because work on the default stream would wait for that stream. The failed query does not
/// invalidate the capture.
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

/// Expects that `call`, in the capturing thread, succeeds if it is `allowed`. Otherwise it must be
/// refused and invalidate the capture.
void beside_a_capture(cudaStreamCaptureMode mode, bool allowed,
                      const std::function<cudaError_t()>& call) {
  cudaStream_t stream = make_stream();
  cudaGraph_t graph = nullptr;
  OK(cudaStreamBeginCapture(stream, mode));
  EXPECT_STATUS(allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported, call());
  EXPECT_STATUS(allowed ? cudaSuccess : cudaErrorStreamCaptureInvalidated,
                cudaStreamEndCapture(stream, &graph));
  static_cast<void>(cudaGetLastError());
  if (graph != nullptr) OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
}

/// While a thread captures, it may not allocate, free, wait or query, even on other streams, except
/// in relaxed mode. Waiting for the whole device is refused in every mode.
void unsafe_calls() {
  cudaStream_t other = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaEventRecord(event, other));
  OK(cudaEventSynchronize(event));
  void* data = nullptr;
  for (const bool relaxed : {true, false}) {
    const auto check = [&](const std::function<cudaError_t()>& call) {
      OK(cudaMalloc(&data, 16));
      beside_a_capture(relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeThreadLocal,
                       relaxed, call);
    };
    check([&] { return cudaMalloc(&data, 16); });
    check([&] { return cudaFree(data); });
    check([&] { return cudaMallocHost(&data, 16); });
    check([&] { return cudaStreamSynchronize(other); });
    check([&] { return cudaStreamQuery(other); });
    check([&] { return cudaEventSynchronize(event); });
    check([&] { return cudaEventQuery(event); });
  }
  beside_a_capture(cudaStreamCaptureModeRelaxed, false, cudaDeviceSynchronize);
}

/// Work on other streams, the end of streams and events, and queries of memory do not break the
/// thread's capture.
void safe_calls() {
  cudaStream_t other = make_stream();
  cudaEvent_t event = make_event();
  int *data = upload(std::vector<int>{0, 0}), word = 0;
  const auto check = [&](const std::function<cudaError_t()>& call) {
    beside_a_capture(cudaStreamCaptureModeThreadLocal, true, call);
  };
  check([&] { return cudaEventRecord(event, other); });
  check([&] { return cudaStreamWaitEvent(other, event, 0); });
  check([&] { return cudaMemsetAsync(data, 1, sizeof(int), other); });
  check([&] { return cudaMemcpyAsync(&word, data, sizeof(int), cudaMemcpyDeviceToHost, other); });
  check([&] { return cudaMemcpy(data, &word, sizeof(int), cudaMemcpyHostToDevice); });
  check([&] { return cudaMemset(data, 0, sizeof(int)); });
  check([&] { return cudaStreamDestroy(make_stream()); });
  check([&] { return cudaEventDestroy(make_event()); });
  check([&] {
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, data);
  });
}

/// The captures of other threads do not restrict a thread in relaxed mode.
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

/// The legacy default stream and a capturing stream cannot begin a capture. Only the stream on
/// which a capture began can end it, and only a capturing stream can end one.
void who_may_begin_and_end() {
  cudaStream_t main = make_stream(), side = make_stream();
  cudaEvent_t fork = make_event();
  cudaGraph_t graph = nullptr;
  EXPECT_STATUS(cudaErrorIllegalState, cudaStreamEndCapture(main, &graph));
  EXPECT_STATUS(cudaErrorStreamCaptureUnsupported,
                cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal));
  OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  EXPECT_STATUS(cudaErrorIllegalState,
                cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  OK(cudaEventRecord(fork, main));
  OK(cudaStreamWaitEvent(side, fork, 0));
  EXPECT_STATUS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(side, &graph));
  static_cast<void>(cudaStreamEndCapture(main, &graph));
  static_cast<void>(cudaGetLastError());
}

/// A stream that waits for no event of the capture is not part of it: its work runs at once.
void other_streams_go_on() {
  cudaStream_t main = make_stream(), other = make_stream();
  int *a = upload(std::vector<int>{0}), *b = upload(std::vector<int>{0});
  int* pinned = nullptr;
  OK(cudaMallocHost(&pinned, sizeof(int)));
  OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed));
  OK(cudaMemsetAsync(a, 1, sizeof(int), main));
  OK(cudaMemsetAsync(b, 2, sizeof(int), other));
  OK(cudaMemcpyAsync(pinned, b, sizeof(int), cudaMemcpyDeviceToHost, other));
  OK(cudaStreamSynchronize(other));
  EXPECT(*pinned == 0x02020202);
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(main, &graph));
  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  OK(cudaMemsetAsync(b, 3, sizeof(int), main));
  OK(cudaGraphLaunch(exec, main));
  EXPECT(download(a, 1)[0] == 0x01010101);
  EXPECT(download(b, 1)[0] == 0x03030303);
  OK(cudaGraphExecDestroy(exec));
}

/// An invalidated capture reports its status, and ends with an error and no graph.
void a_broken_capture_says_so() {
  cudaStream_t stream = make_stream();
  int* a = upload(std::vector<int>{0});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_STATUS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusInvalidated);
  EXPECT_STATUS(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(a, 1, sizeof(int), stream));
  cudaGraph_t graph = nullptr;
  EXPECT_STATUS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT(graph == nullptr);
  static_cast<void>(cudaGetLastError());
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"unjoined_work_is_an_error", unjoined_work_is_an_error},
                       {"synchronising_breaks_a_capture", synchronising_breaks_a_capture},
                       {"events_from_outside_are_refused", events_from_outside_are_refused},
                       {"default_stream_beside_a_capture", default_stream_beside_a_capture},
                       {"captured_event_cannot_be_queried", captured_event_cannot_be_queried},
                       {"unsafe_calls", unsafe_calls},
                       {"safe_calls", safe_calls},
                       {"unsafe_calls_of_a_relaxed_thread", unsafe_calls_of_a_relaxed_thread},
                       {"who_may_begin_and_end", who_may_begin_and_end},
                       {"other_streams_go_on", other_streams_go_on},
                       {"a_broken_capture_says_so", a_broken_capture_says_so},
                   });
}
