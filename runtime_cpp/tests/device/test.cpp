#include "test.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

#if defined(__SANITIZE_THREAD__)
/// By default, ThreadSanitizer sleeps for a second at the exit of a process, and the cases end many
/// processes.
extern "C" const char* __tsan_default_options() { return "atexit_sleep_ms=0"; }
#endif

namespace device_test {
namespace {

constexpr int kSkipped = 77;
constexpr unsigned kCaseSeconds = 60, kRankSeconds = 45;

int failures = 0;

/// Waits for a child. Returns its exit code, or 128 + signal.
int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs a body in a child process, which SIGALRM ends after `seconds`. Returns its exit code, as
/// wait_for() does.
int run_child(unsigned seconds, const std::function<void()>& body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(seconds);  // a hang ends as SIGALRM
    body();
    end_case();
  }
  return wait_for(child);
}

int count_devices() {
  return run_child(kRankSeconds, [] {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    _exit(count);
  });
}

struct Shared {
  std::atomic<int> arrived;
  ncclUniqueId id;
  char user[kSharedBytes];
};
Shared* shared = nullptr;

const char* verdict(int code) {
  if (code == 0) return "ok";
  if (code == kSkipped) return "skipped";
  return code == 128 + SIGALRM ? "HANGS" : "FAILED";
}

bool selected(int argc, char** argv, const char* name) {
  if (argc < 2) return true;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return true;
  }
  return false;
}

}  // namespace

void fail(const char* file, int line, const std::string& what) {
  constexpr int kShown = 10;
  if (++failures <= kShown) fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

void expect_status(const char* file, int line, const char* call, int expected, int got) {
  if (got == expected) return;
  std::string text = std::string(call) + " returned " + std::to_string(got) + ", expected " +
                     std::to_string(expected);
  fail(file, line,
       text + "; last CUDA error: " + cudaGetErrorString(cudaPeekAtLastError()) +
           "; last NCCL error: " + ncclGetLastError(nullptr));
}

bool gpus_are_shared() {
  const char* text = getenv("HIRGEN_SHARE_GPU");
  return text != nullptr && strcmp(text, "1") == 0;
}

void skip(const std::string& why) {
  printf("    skipped: %s\n", why.c_str());
  fflush(nullptr);
  _exit(kSkipped);
}

void need_own_gpus() {
  if (gpus_are_shared()) skip("NCCL takes no GPU twice");
}

int run_cases(int argc, char** argv, const std::vector<Case>& cases) {
  // Loading a kernel at its first launch may wait for all running kernels, and some of these wait
  // for work that is launched after them.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  int failed = 0, ran = 0;
  for (const Case& one : cases) {
    if (!selected(argc, argv, one.name)) continue;
    auto start = std::chrono::steady_clock::now();
    int code = run_child(kCaseSeconds, one.run);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    printf("%-8s %-40s %.2f s\n", verdict(code), one.name, seconds.count());
    fflush(stdout);
    failed += code != 0 && code != kSkipped;
    ran += code != kSkipped;
  }
  if (failed > 0) return 1;
  return ran > 0 ? 0 : kSkipped;
}

void end_case() {
  fflush(nullptr);
  _exit(failures == 0 ? 0 : 1);
}

void Rank::barrier() const {
  int target = (shared->arrived.fetch_add(1) / size + 1) * size;
  for (int i = 0; i < 30000 && shared->arrived.load() < target; ++i) usleep(1000);
  EXPECT(shared->arrived.load() >= target);
}

void run_ranks(int size, const std::function<void(const Rank&)>& body) {
  const int devices = count_devices();
  if (devices < (gpus_are_shared() ? 1 : size)) {
    skip("needs " + std::to_string(size) + " devices, there are " + std::to_string(devices));
  }
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared = static_cast<Shared*>(memory);
  std::vector<pid_t> children;
  for (int r = 0; r < size; ++r) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      alarm(kRankSeconds);
      OK(cudaSetDevice(r % devices));
      body({r, size, shared->user});
      end_case();
    }
    children.push_back(child);
  }
  for (int r = 0; r < size; ++r) {
    int code = wait_for(children[static_cast<size_t>(r)]);
    if (code == kSkipped) _exit(kSkipped);
    if (code != 0) fail(__FILE__, __LINE__, "rank " + std::to_string(r) + " " + verdict(code));
  }
}

ncclComm_t make_comm(const Rank& rank) {
  need_own_gpus();
  if (rank.rank == 0) OK(ncclGetUniqueId(&shared->id));
  rank.barrier();
  ncclComm_t comm = nullptr;
  OK(ncclCommInitRank(&comm, rank.size, shared->id, rank.rank));
  return comm;
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

struct Gate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
};

Gate::Gate() : state_(new State) {}

Gate::~Gate() {
  open();
  static_cast<void>(cudaDeviceSynchronize());
  delete state_;
}

void Gate::close(cudaStream_t stream) {
  auto wait = [](void* argument) {
    auto* state = static_cast<State*>(argument);
    std::unique_lock<std::mutex> lock(state->mutex);
    state->changed.wait(lock, [&] { return state->is_open; });
  };
  OK(cudaLaunchHostFunc(stream, wait, state_));
}

void Gate::open() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->is_open = true;
  state_->changed.notify_all();
}

}  // namespace device_test
