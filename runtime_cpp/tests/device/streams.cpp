// Tests of streams: the order of their work, and the results of queries.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

/// A word of device memory.
int* make_device_word() { return upload(std::vector<int>{0}); }

int read_device(int* word) { return download(word, 1)[0]; }

void copy_word(int* to, const int* from, cudaStream_t stream) {
  OK(cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDeviceToDevice, stream));
}

/// A pinned word that tests read while work runs.
int* make_word() {
  int* word = nullptr;
  OK(cudaMallocHost(&word, sizeof(int)));
  *word = 0;
  return word;
}

int read(int* word) { return std::atomic_ref<int>(*word).load(); }

void set_word(int* word, int byte, cudaStream_t stream) {
  // Pinned memory is device-accessible, so a fill writes it.
  OK(cudaMemsetAsync(word, byte, 1, stream));
}

void order_within_a_stream() {
  cudaStream_t stream = make_stream();
  int* word = make_word();
  Gate gate;
  gate.close(stream);
  for (int i = 1; i <= 20; ++i) set_word(word, i, stream);
  EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(stream));
  EXPECT(read(word) == 0);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT(read(word) == 20);
  OK(cudaStreamQuery(stream));
}

void streams_run_beside_each_other() {
  cudaStream_t blocked = make_stream(), free_stream = make_stream();
  int* word = make_word();
  Gate gate;
  gate.close(blocked);
  set_word(word, 1, free_stream);
  OK(cudaStreamSynchronize(free_stream));
  EXPECT(read(word) == 1);
  EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(blocked));
}

/// cudaStreamDestroy returns at once; the stream's work still completes.
void destroyed_stream_finishes() {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  int* word = make_word();
  Gate gate;
  gate.close(stream);
  set_word(word, 5, stream);
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamDestroy(stream));
  EXPECT(read(word) == 0);
  gate.open();
  OK(cudaEventSynchronize(event));
  EXPECT(read(word) == 5);
}

/// The legacy default stream and blocking streams wait for each other; non-blocking ones do not.
void default_stream() {
  cudaStream_t blocking = nullptr, non_blocking = make_stream();
  OK(cudaStreamCreate(&blocking));
  int *word = make_device_word(), *copy = make_device_word();
  {
    Gate gate;
    gate.close(blocking);
    set_word(word, 9, blocking);
    copy_word(copy, word, nullptr);
    set_word(word, 10, blocking);
    EXPECT_STATUS(cudaErrorNotReady, cudaStreamQuery(nullptr));
    gate.open();
    OK(cudaStreamSynchronize(nullptr));
    EXPECT(read_device(copy) == 9);
  }
  Gate gate;
  gate.close(non_blocking);
  OK(cudaMemsetAsync(word, 1, 1, nullptr));
  OK(cudaStreamSynchronize(nullptr));  // hangs if it waited for the non-blocking stream
}

/// Work of the default stream follows work of a blocking stream that is already complete, even if
/// the stream is destroyed. The host learns of the end by a relaxed flag, which orders nothing. So
/// ThreadSanitizer checks the order that the default stream itself guarantees.
void default_stream_after_work() {
  const auto finish = [](void* flag) {
    static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_relaxed);
  };
  for (const bool destroyed : {false, true}) {
    cudaStream_t blocking = nullptr;
    OK(cudaStreamCreate(&blocking));
    int* word = make_device_word();
    std::atomic<bool> finished{false};
    OK(cudaMemsetAsync(word, 1, sizeof(int), blocking));
    OK(cudaLaunchHostFunc(blocking, finish, &finished));
    if (destroyed) OK(cudaStreamDestroy(blocking));
    while (!finished.load(std::memory_order_relaxed)) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the stream is idle or gone
    OK(cudaMemset(word, 2, sizeof(int)));
    EXPECT(read_device(word) == 0x02020202);
  }
}

/// Synchronising calls inside a host function are refused.
void host_functions() {
  cudaStream_t stream = make_stream();
  struct State {
    int calls = 0;
    cudaError_t inside = cudaSuccess;
  } state;
  auto call = [](void* argument) {
    auto* seen = static_cast<State*>(argument);
    seen->calls++;
    seen->inside = cudaDeviceSynchronize();
  };
  OK(cudaLaunchHostFunc(stream, call, &state));
  OK(cudaLaunchHostFunc(stream, call, &state));
  OK(cudaStreamSynchronize(stream));
  EXPECT(state.calls == 2);
  EXPECT(state.inside == cudaErrorNotPermitted);
}

void priorities() {
  int least = 1, greatest = 1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least == 0 && greatest < 0);
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  OK(cudaStreamSynchronize(stream));
  OK(cudaStreamDestroy(stream));
}

/// Several host threads submit at once.
void many_threads() {
  constexpr int kThreads = 4, kRounds = 200;
  int* word = make_word();
  std::vector<std::thread> threads;
  std::vector<int*> sums;
  for (int t = 0; t < kThreads; ++t) sums.push_back(upload(std::vector<int>(1)));
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      cudaStream_t a = make_stream(), b = make_stream();
      cudaEvent_t event = make_event();
      for (int i = 0; i < kRounds; ++i) {
        cudaStream_t from = i % 2 == 0 ? a : b, to = i % 2 == 0 ? b : a;
        OK(cudaMemsetAsync(sums[static_cast<size_t>(t)], i % 100, 4, from));
        OK(cudaEventRecord(event, from));
        OK(cudaStreamWaitEvent(to, event, 0));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  OK(cudaDeviceSynchronize());
  for (int* sum : sums) EXPECT(download(sum, 1)[0] == 99 * 0x01010101);
  EXPECT(read(word) == 0);
}

void devices() {
  int count = 0, current = -1;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  OK(cudaGetDevice(&current));
  EXPECT(current == 0);
  EXPECT_STATUS(cudaErrorInvalidDevice, cudaSetDevice(count));
  static_cast<void>(cudaGetLastError());
  cudaDeviceProp properties{};
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.name[0] != '\0' && properties.totalGlobalMem > 0 && properties.major > 0);
  std::string first(32, '\0'), last(32, '\0');
  OK(cudaDeviceGetPCIBusId(first.data(), 32, 0));
  OK(cudaDeviceGetPCIBusId(last.data(), 32, count - 1));
  EXPECT((first == last) == (count == 1));
  EXPECT(strlen(first.c_str()) == 12);
  int version = 0, value = 0;
  OK(cudaRuntimeGetVersion(&version));
  EXPECT(version >= 12000);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == properties.multiProcessorCount);
  EXPECT(std::string(cudaGetErrorName(cudaErrorNotReady)) == "cudaErrorNotReady");
}

#ifdef HIRGEN_CPU_DEVICE
/// Uses of destroyed handles, which are undefined on a GPU.
void dead_handles() {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaStreamDestroy(stream));
  OK(cudaEventDestroy(event));
  EXPECT_STATUS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  EXPECT_STATUS(cudaErrorInvalidResourceHandle, cudaEventRecord(event, nullptr));
  EXPECT_STATUS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
}

/// A fault of queued work is sticky: later calls return it, and nothing hangs.
void faults_are_sticky() {
  cudaStream_t stream = make_stream(), other = make_stream();
  cudaEvent_t event = make_event();
  Gate gate;
  gate.close(stream);
  hirgen_cpu_launch(stream, [] { throw std::runtime_error("kernel failed"); });
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event, 0));
  gate.open();
  EXPECT_STATUS(cudaErrorLaunchFailure, cudaStreamSynchronize(other));
  EXPECT_STATUS(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
  EXPECT_STATUS(cudaErrorLaunchFailure, cudaGetLastError());
  EXPECT_STATUS(cudaErrorLaunchFailure, cudaGetLastError());
  std::string text = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT(text.find("kernel failed") != std::string::npos);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"order_within_a_stream", order_within_a_stream},
                       {"streams_run_beside_each_other", streams_run_beside_each_other},
                       {"destroyed_stream_finishes", destroyed_stream_finishes},
                       {"default_stream", default_stream},
                       {"default_stream_after_work", default_stream_after_work},
                       {"host_functions", host_functions},
                       {"priorities", priorities},
                       {"many_threads", many_threads},
                       {"devices", devices},
#ifdef HIRGEN_CPU_DEVICE
                       {"dead_handles", dead_handles},
                       {"faults_are_sticky", faults_are_sticky},
#endif
                   });
}
