// Tests of events: which record a wait waits for, and the results of queries.
#include <cuda_runtime.h>

#include <cmath>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

int* make_word() { return upload(std::vector<int>{0}); }

int read(int* word) { return download(word, 1)[0]; }

void set_word(int* word, int byte, cudaStream_t stream) {
  OK(cudaMemsetAsync(word, byte, 1, stream));
}

void copy_word(int* to, const int* from, cudaStream_t stream) {
  OK(cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDeviceToDevice, stream));
}

void event_orders_streams() {
  cudaStream_t producer = make_stream(), consumer = make_stream();
  cudaEvent_t event = make_event();
  int *word = make_word(), *copy = make_word();
  Gate gate;
  gate.close(producer);
  set_word(word, 7, producer);
  OK(cudaEventRecord(event, producer));
  OK(cudaStreamWaitEvent(consumer, event, 0));
  copy_word(copy, word, consumer);
  EXPECT_STATUS(cudaErrorNotReady, cudaEventQuery(event));
  EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(consumer));
  gate.open();
  OK(cudaStreamSynchronize(consumer));
  EXPECT(read(copy) == 7);
  OK(cudaEventQuery(event));
}

/// A wait is for the record made before it; a later record does not move it.
void wait_takes_the_earlier_record() {
  cudaStream_t early = make_stream(), late = make_stream(), waiter = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaEventRecord(event, early));
  OK(cudaStreamWaitEvent(waiter, event, 0));
  Gate gate;
  gate.close(late);
  OK(cudaEventRecord(event, late));
  OK(cudaStreamSynchronize(waiter));  // hangs if the wait followed the second record
  EXPECT_STATUS(cudaErrorNotReady, cudaEventQuery(event));
}

void unrecorded_event_is_no_wait() {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaStreamWaitEvent(stream, event, 0));
  OK(cudaEventQuery(event));
  OK(cudaEventSynchronize(event));
  OK(cudaStreamSynchronize(stream));
}

/// A wait still orders the streams after its event is destroyed.
void destroyed_event_still_orders() {
  cudaStream_t producer = make_stream(), consumer = make_stream();
  cudaEvent_t event = make_event();
  int *word = make_word(), *copy = make_word();
  Gate gate;
  gate.close(producer);
  set_word(word, 3, producer);
  OK(cudaEventRecord(event, producer));
  OK(cudaStreamWaitEvent(consumer, event, 0));
  OK(cudaEventDestroy(event));
  copy_word(copy, word, consumer);
  gate.open();
  OK(cudaStreamSynchronize(consumer));
  EXPECT(read(copy) == 3);
}

void elapsed_time() {
  cudaStream_t stream = make_stream();
  cudaEvent_t start = nullptr, end = nullptr;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  float ms = -1;
  EXPECT_STATUS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
  Gate gate;
  OK(cudaEventRecord(start, stream));
  gate.close(stream);
  OK(cudaEventRecord(end, stream));
  EXPECT_STATUS(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  gate.open();
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&ms, start, end));
  EXPECT(ms >= 0 && ms < 30000);
  cudaEvent_t untimed = make_event();
  OK(cudaEventRecord(untimed, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_STATUS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
  static_cast<void>(cudaGetLastError());
}

/// A wait made before the first record waits for nothing, also once there is a record.
void wait_before_the_record() {
  cudaStream_t early = make_stream(), recorder = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaStreamWaitEvent(early, event, 0));
  Gate gate;
  gate.close(recorder);
  OK(cudaEventRecord(event, recorder));
  OK(cudaStreamSynchronize(early));  // hangs if the wait took the later record
  EXPECT_STATUS(cudaErrorNotReady, cudaEventQuery(event));
}

/// Each wait is for the last record before it; a query of the event is for the last record.
void recorded_again() {
  cudaStream_t first = make_stream(), second = make_stream();
  cudaStream_t of_first = make_stream(), of_second = make_stream();
  cudaEvent_t event = make_event();
  Gate gate;
  gate.close(first);
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(of_first, event, 0));
  OK(cudaEventRecord(event, second));
  OK(cudaStreamWaitEvent(of_second, event, 0));
  OK(cudaStreamSynchronize(of_second));
  OK(cudaEventSynchronize(event));
  OK(cudaEventQuery(event));
  EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(of_first));
  static_cast<void>(cudaGetLastError());
  gate.open();
  OK(cudaStreamSynchronize(of_first));
}

/// An event completes when the work before it completes; later work on its stream does not matter.
void later_work_is_not_waited_for() {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  int* word = make_word();
  set_word(word, 4, stream);
  OK(cudaEventRecord(event, stream));
  Gate gate;
  gate.close(stream);
  OK(cudaEventSynchronize(event));  // hangs if it waited for the whole stream
  OK(cudaEventQuery(event));
  EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(stream));
  static_cast<void>(cudaGetLastError());
  gate.open();
  EXPECT(read(word) == 4);
}

/// A stream may wait for its own record. In a chain of streams, each waits for all earlier work of
/// the chain.
void order_is_passed_on() {
  constexpr int kStreams = 6;
  std::vector<cudaStream_t> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(make_stream());
  std::vector<int> zeros(kStreams + 1);
  int* words = upload(zeros);
  cudaEvent_t event = make_event();
  Gate gate;
  gate.close(streams[0]);
  set_word(words, 9, streams[0]);
  for (int i = 0; i < kStreams; ++i) {
    cudaStream_t stream = streams[static_cast<size_t>(i)];
    if (i > 0) OK(cudaStreamWaitEvent(stream, event, 0));
    copy_word(words + i + 1, words + i, stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(stream, event, 0));
  }
  EXPECT_STATUS(cudaErrorNotReady, cudaEventQuery(event));
  static_cast<void>(cudaGetLastError());
  gate.open();
  OK(cudaEventSynchronize(event));
  EXPECT(read(words + kStreams) == 9);
}

/// The times between three events add up. The time from a later event to an earlier one is not
/// positive.
void elapsed_times_add_up() {
  cudaStream_t stream = make_stream();
  cudaEvent_t events[3];
  int* word = make_word();
  for (cudaEvent_t& event : events) {
    OK(cudaEventCreate(&event));
    for (int i = 0; i < 20; ++i) set_word(word, i, stream);
    OK(cudaEventRecord(event, stream));
  }
  OK(cudaStreamSynchronize(stream));
  float first = -1, second = -1, both = -1, back = 1;
  OK(cudaEventElapsedTime(&first, events[0], events[1]));
  OK(cudaEventElapsedTime(&second, events[1], events[2]));
  OK(cudaEventElapsedTime(&both, events[0], events[2]));
  OK(cudaEventElapsedTime(&back, events[2], events[0]));
  EXPECT(first >= 0 && second >= 0 && std::abs(first + second - both) < 0.01F);
  EXPECT(back <= 0);
  for (cudaEvent_t event : events) OK(cudaEventDestroy(event));
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"event_orders_streams", event_orders_streams},
                       {"wait_takes_the_earlier_record", wait_takes_the_earlier_record},
                       {"unrecorded_event_is_no_wait", unrecorded_event_is_no_wait},
                       {"destroyed_event_still_orders", destroyed_event_still_orders},
                       {"elapsed_time", elapsed_time},
                       {"wait_before_the_record", wait_before_the_record},
                       {"recorded_again", recorded_again},
                       {"later_work_is_not_waited_for", later_work_is_not_waited_for},
                       {"order_is_passed_on", order_is_passed_on},
                       {"elapsed_times_add_up", elapsed_times_add_up},
                   });
}
