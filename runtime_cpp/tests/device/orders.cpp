// Tests of HIRGEN_CPU_SEED: seeds find missing waits, do not break correct programs, and are
// reproducible.
//
// A correct program has the same result under every seed. A program with a missing wait must have a
// wrong result under more than half of the seeds. A GPU has no seeds: it runs the correct programs
// and skips the wrong ones.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include "test.hpp"

using namespace device_test;

namespace {

#if !defined(HIRGEN_CPU_DEVICE)
constexpr int kSeeds = 3;  // a GPU ignores seeds
#elif defined(__SANITIZE_THREAD__)
constexpr int kSeeds = 15;  // processes start slowly, and the sanitizer needs few orders
#else
constexpr int kSeeds = 100;
#endif
constexpr size_t kBytes = 64;

/// A program that leaves out one wait unless `synchronised`. Returns whether its result is right.
using Program = bool (*)(bool synchronised);

char* zeros(size_t count) { return upload(std::vector<char>(count)); }

void order(bool synchronised, cudaStream_t before, cudaStream_t after) {
  if (!synchronised) return;
  cudaEvent_t event = make_event();
  OK(cudaEventRecord(event, before));
  OK(cudaStreamWaitEvent(after, event, 0));
  OK(cudaEventDestroy(event));
}

/// The consumer must wait for the producer.
bool read_after_write(bool synchronised) {
  cudaStream_t producer = make_stream(), consumer = make_stream();
  char *data = zeros(kBytes), *copy = zeros(kBytes);
  OK(cudaMemsetAsync(data, 1, kBytes, producer));
  order(synchronised, producer, consumer);
  OK(cudaMemcpyAsync(copy, data, kBytes, cudaMemcpyDeviceToDevice, consumer));
  return download(copy, kBytes) == std::vector<char>(kBytes, 1);
}

/// The producer must not overwrite what the consumer still reads.
bool write_after_read(bool synchronised) {
  cudaStream_t producer = make_stream(), consumer = make_stream();
  char *data = zeros(kBytes), *copy = zeros(kBytes);
  OK(cudaMemsetAsync(data, 1, kBytes, producer));
  order(true, producer, consumer);
  OK(cudaMemcpyAsync(copy, data, kBytes, cudaMemcpyDeviceToDevice, consumer));
  order(synchronised, consumer, producer);
  OK(cudaMemsetAsync(data, 2, kBytes, producer));
  return download(copy, kBytes) == std::vector<char>(kBytes, 1);
}

/// A pipeline of two buffers, as in emitted programs: slice s uses buffer s % 2 after slice s - 2.
/// Unless `synchronised`, the wait of slice 3 is left out.
bool two_buffers(bool synchronised) {
  constexpr size_t kSlices = 6;
  cudaStream_t producer = make_stream(), consumer = make_stream();
  char *buffers = zeros(2 * kBytes), *result = zeros(kSlices * kBytes);
  std::vector<cudaEvent_t> read;
  for (size_t s = 0; s < kSlices; ++s) {
    char* buffer = buffers + s % 2 * kBytes;
    if (s >= 2 && (synchronised || s != 3)) OK(cudaStreamWaitEvent(producer, read[s - 2], 0));
    OK(cudaMemsetAsync(buffer, static_cast<int>(s) + 1, kBytes, producer));
    order(true, producer, consumer);
    OK(cudaMemcpyAsync(result + s * kBytes, buffer, kBytes, cudaMemcpyDeviceToDevice, consumer));
    read.push_back(make_event());
    OK(cudaEventRecord(read.back(), consumer));
  }
  std::vector<char> got = download(result, kSlices * kBytes);
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != static_cast<char>(i / kBytes + 1)) return false;
  }
  return true;
}

/// The host must wait before it reads.
bool host_read(bool synchronised) {
  cudaStream_t stream = make_stream();
  char *data = zeros(kBytes), *pinned = nullptr;
  OK(cudaMallocHost(&pinned, kBytes));
  pinned[0] = 0;
  OK(cudaMemsetAsync(data, 1, kBytes, stream));
  OK(cudaMemcpyAsync(pinned, data, kBytes, cudaMemcpyDeviceToHost, stream));
  if (synchronised) OK(cudaStreamSynchronize(stream));
  char seen = std::atomic_ref<char>(pinned[0]).load();
  OK(cudaStreamSynchronize(stream));
  return seen == 1;
}

/// A copy from pageable memory on the default stream does not order a non-blocking stream.
bool pageable_upload(bool synchronised) {
  cudaStream_t stream = make_stream();
  char *data = zeros(kBytes), *copy = zeros(kBytes);
  std::vector<char> host(kBytes, 1);
  OK(cudaMemcpy(data, host.data(), kBytes, cudaMemcpyHostToDevice));
  if (synchronised) OK(cudaDeviceSynchronize());
  OK(cudaMemcpyAsync(copy, data, kBytes, cudaMemcpyDeviceToDevice, stream));
  return download(copy, kBytes) == host;
}

/// Runs `body` with a seed in a new process, because a process reads the seed once. Returns the
/// exit code; 255 if a signal ended the process.
int run_with_seed(int seed, const std::function<int()>& body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setenv("HIRGEN_CPU_SEED", std::to_string(seed).c_str(), 1);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

void right_program(Program program) {
  for (int seed = 0; seed <= kSeeds; ++seed) {
    if (run_with_seed(seed, [&] { return program(true) ? 0 : 1; }) == 0) continue;
    return fail(__FILE__, __LINE__, "wrong result with seed " + std::to_string(seed));
  }
}

#ifdef HIRGEN_CPU_DEVICE
void wrong_program(Program program) {
  int caught = 0;
  EXPECT(freopen("/dev/null", "w", stderr) !=
         nullptr);  // under a sanitizer every finding is a long report
  for (int seed = 1; seed <= kSeeds; ++seed) {
    caught += run_with_seed(seed, [&] { return program(false) ? 0 : 1; }) != 0;
  }
  printf("    %d of %d seeds find it\n", caught, kSeeds);
  EXPECT(caught * 2 > kSeeds);
}

/// The order in which the tasks of four streams ran, in memory that the parent process sees.
struct Log {
  std::atomic<int> count;
  char order[256];
};

void write_log(Log* log) {
  std::vector<cudaStream_t> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(make_stream());
  for (int i = 0; i < 40; ++i) {
    cudaStream_t stream = streams[static_cast<size_t>(i % 4)];
    hirgen_cpu_launch(stream, [=] { log->order[log->count++] = static_cast<char>('a' + i % 4); });
    if (i % 10 == 9) order(true, streams[0], streams[2]);
    if (i % 16 == 15) static_cast<void>(cudaStreamQuery(streams[1]));
  }
  OK(cudaDeviceSynchronize());
}

/// Polls an event while `body` runs, as a watchdog's thread does.
void poll_meanwhile(const std::function<void()>& body) {
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  OK(cudaEventRecord(event, stream));
  std::atomic<bool> done{false};
  std::thread poller([&] {
    while (!done) {
      static_cast<void>(cudaEventQuery(event));
      usleep(100);
    }
  });
  body();
  done = true;
  poller.join();
}

std::string order_of(int seed, bool watched = false) {
  void* memory =
      mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* log = static_cast<Log*>(memory);
  run_with_seed(seed, [&] {
    if (watched) poll_meanwhile([&] { write_log(log); });
    if (!watched) write_log(log);
    return 0;
  });
  std::string text(log->order, static_cast<size_t>(log->count.load()));
  munmap(memory, sizeof(Log));
  return text;
}

void seeds_repeat() {
  std::set<std::string> orders;
  for (int seed = 1; seed <= 20; ++seed) {
    std::string order = order_of(seed);
    EXPECT(order.size() == 40);
    EXPECT(order == order_of(seed));
    orders.insert(order);
  }
  EXPECT(orders.size() > 15);
}

/// Work that is held back runs even if the host never waits through the API.
void held_back_work_runs() {
  for (int seed = 1; seed <= 5; ++seed) {
    EXPECT(run_with_seed(seed, [] {
             std::atomic<bool> done{false};
             cudaStream_t stream = make_stream();
             hirgen_cpu_launch(stream, [&] { done = true; });
             for (int i = 0; i < 10000 && !done; ++i) usleep(1000);
             return done ? 0 : 1;
           }) == 0);
  }
}

/// A watchdog that polls from another thread neither stops nor releases work.
void polling_thread_is_harmless() {
  for (int seed = 1; seed <= 5; ++seed) {
    std::string order = order_of(seed, true);
    EXPECT(order.size() == 40);
    EXPECT(order == order_of(seed, true));
  }
}
#endif

std::vector<Case> cases() {
  struct Named {
    const char* name;
    Program program;
  };
  static const Named kPrograms[] = {
      {"read_after_write", read_after_write}, {"write_after_read", write_after_read},
      {"two_buffers", two_buffers},           {"host_read", host_read},
      {"pageable_upload", pageable_upload},
  };
  static std::vector<std::string> names;
  names.reserve(2 * std::size(kPrograms));
  std::vector<Case> all;
  for (const Named& one : kPrograms) {
    Program program = one.program;
    names.push_back(std::string(one.name) + "_right");
    all.push_back({names.back().c_str(), [program] { right_program(program); }});
#ifdef HIRGEN_CPU_DEVICE
    names.push_back(std::string(one.name) + "_wrong");
    all.push_back({names.back().c_str(), [program] { wrong_program(program); }});
#endif
  }
#ifdef HIRGEN_CPU_DEVICE
  all.push_back({"seeds_repeat", seeds_repeat});
  all.push_back({"held_back_work_runs", held_back_work_runs});
  all.push_back({"polling_thread_is_harmless", polling_thread_is_harmless});
#endif
  return all;
}

}  // namespace

int main(int argc, char** argv) { return run_cases(argc, argv, cases()); }
