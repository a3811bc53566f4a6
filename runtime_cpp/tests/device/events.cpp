// Events: what a wait waits for, and what queries answer.
#include <cuda_runtime.h>

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

/// A destroyed event does its duty to waits made before.
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

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"event_orders_streams", event_orders_streams},
                       {"wait_takes_the_earlier_record", wait_takes_the_earlier_record},
                       {"unrecorded_event_is_no_wait", unrecorded_event_is_no_wait},
                       {"destroyed_event_still_orders", destroyed_event_still_orders},
                       {"elapsed_time", elapsed_time},
                   });
}
