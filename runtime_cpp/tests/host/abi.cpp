// Tests of the C ABI on one rank, used and misused: a refused call leaves the handle unchanged, and
// nothing crashes.
#include "hirgen/abi.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hirgen/error.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

constexpr int64_t kElements = 1000;
constexpr size_t kBytes = kElements * sizeof(float);
constexpr const char* kWhere = "copy.yaml:1:1 C = A";

/// A program that computes C = A through its own buffer. Concurrent calls would race for the
/// buffer.
class Copy final : public Program {
 public:
  explicit Copy(Context& context)
      : context_(context), buffer_(context.allocate(kBytes, "the buffer")) {}
  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    const auto copy = [&](void* to, const void* from) {
      HG_CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, caller), kWhere);
    };
    ++calls_;
    copy(buffer_, tensors[0]);
    copy(tensors[1], buffer_);
    context_.call_issued(caller);
  }

 private:
  Context& context_;
  void* buffer_;
  int64_t calls_ = 0;
};

ProgramTable copy_table(bool graph) {
  ProgramTable table;
  table.info.graph = graph;
  table.info.name = "copy";
  table.info.digest = "d";
  table.tensors = [](int) {
    TensorDesc a;
    a.name = "A";
    a.axes = {{kElements, 1, 0}};
    TensorDesc c = a;
    c.name = "C";
    c.output = true;
    return std::vector<TensorDesc>{a, c};
  };
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Copy>(context);
  };
  return table;
}

/// A handle, and the tensors and the stream of its caller.
struct Host {
  explicit Host(int device = 0, bool graph = false) {
    hirgen_options options{};
    options.version = HIRGEN_ABI_VERSION;
    options.world = 1;
    options.device = device;
    HG_EXPECT_EQ(abi_create(copy_table(graph), &options, &handle), HIRGEN_OK);
    for (void*& tensor : tensors) HG_CHECK(cudaMalloc(&tensor, kBytes), kWhere);
    HG_CHECK(cudaStreamCreate(&stream), kWhere);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    if (handle != nullptr) HG_EXPECT_EQ(abi_destroy(handle), HIRGEN_OK);
    HG_CHECK(cudaStreamDestroy(stream), kWhere);
    for (void* tensor : tensors) HG_CHECK(cudaFree(tensor), kWhere);
  }
  int run(cudaStream_t on, std::vector<void*> with) const {
    return abi_run(handle, on, with.data(), with.size());
  }
  int run() const { return run(stream, {tensors[0], tensors[1]}); }
  /// Makes a call with inputs of `value`, and expects the right result.
  void expect_right(float value) const {
    const std::vector<float> in(kElements, value);
    std::vector<float> out(kElements);
    HG_CHECK(cudaMemcpyAsync(tensors[0], in.data(), kBytes, cudaMemcpyHostToDevice, stream),
             kWhere);
    HG_EXPECT_EQ(run(), HIRGEN_OK);
    HG_CHECK(cudaStreamSynchronize(stream), kWhere);
    HG_CHECK(cudaMemcpy(out.data(), tensors[1], kBytes, cudaMemcpyDeviceToHost), kWhere);
    HG_EXPECT(in == out);
  }

  hirgen_handle* handle = nullptr;
  void* tensors[2] = {};
  cudaStream_t stream = nullptr;
};

HG_TEST(memory_of_the_host_is_refused_with_the_tensors_name) {
  const Host host;
  std::vector<float> pageable(kElements);
  HG_EXPECT_EQ(host.run(host.stream, {pageable.data(), host.tensors[1]}), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the pointer of tensor A, 0x");
  HG_EXPECT_CONTAINS(abi_last_error(host.handle), "is memory of the host");
  host.expect_right(1);
  // The next calls must be refused even after a correct call.
  HG_EXPECT_EQ(host.run(host.stream, {host.tensors[0], pageable.data()}), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the pointer of tensor C, 0x");
  void* pinned = nullptr;
  HG_CHECK(cudaMallocHost(&pinned, kBytes), kWhere);
  HG_EXPECT_EQ(host.run(host.stream, {pinned, host.tensors[1]}), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(host.handle), "page-locked memory of the host");
  HG_CHECK(cudaFreeHost(pinned), kWhere);
  host.expect_right(2);
}

HG_TEST(an_unaligned_pointer_is_refused_with_the_tensors_name_and_the_rest) {
  const Host host;
  const auto at = [&](int tensor, size_t bytes) {
    return static_cast<void*>(static_cast<char*>(host.tensors[tensor]) + bytes);
  };
  host.expect_right(1);  // the calls below must be refused even after a correct call
  for (const size_t rest : {4U, 8U, 12U}) {
    HG_EXPECT_EQ(host.run(host.stream, {at(0, rest), host.tensors[1]}), HIRGEN_USAGE);
    HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the pointer of tensor A, 0x");
    HG_EXPECT_CONTAINS(abi_last_error(host.handle),
                       "is " + std::to_string(rest) + " bytes beyond a multiple of 16");
    HG_EXPECT_EQ(host.run(host.stream, {host.tensors[0], at(1, rest)}), HIRGEN_USAGE);
    HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the pointer of tensor C, 0x");
  }
  host.expect_right(2);
}

HG_TEST(a_stream_that_is_captured_is_refused_and_the_capture_goes_on) {
  const Host host;
  const auto captured = [&](cudaStream_t on, const char* text) {
    HG_CHECK(cudaStreamBeginCapture(host.stream, cudaStreamCaptureModeGlobal), kWhere);
    HG_EXPECT_EQ(host.run(on, {host.tensors[0], host.tensors[1]}), HIRGEN_USAGE);
    HG_EXPECT_CONTAINS(abi_last_error(host.handle), text);
    cudaGraph_t graph = nullptr;
    HG_CHECK(cudaStreamEndCapture(host.stream, &graph), kWhere);
    HG_CHECK(cudaGraphDestroy(graph), kWhere);
  };
  captured(host.stream, "is being captured");  // before any call of the program
  captured(nullptr, "is the default stream");
  host.expect_right(1);
  captured(host.stream, "is being captured");
  captured(nullptr, "is the default stream");
  host.expect_right(2);
}

HG_TEST(a_graph_of_the_caller_contains_the_call_of_a_program_with_graphs) {
  for (const bool warm : {false, true}) {
    const Host host(0, /*graph=*/true);
    if (warm) host.expect_right(1);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    HG_CHECK(cudaStreamBeginCapture(host.stream, cudaStreamCaptureModeGlobal), kWhere);
    HG_EXPECT_EQ(host.run(), HIRGEN_OK);
    HG_CHECK(cudaStreamEndCapture(host.stream, &graph), kWhere);
    HG_CHECK(cudaGraphInstantiate(&executable, graph, 0), kWhere);
    for (const uint8_t byte : {1, 2}) {
      uint8_t copied = 0;
      HG_CHECK(cudaMemsetAsync(host.tensors[0], byte, kBytes, host.stream), kWhere);
      HG_CHECK(cudaGraphLaunch(executable, host.stream), kWhere);
      HG_CHECK(cudaStreamSynchronize(host.stream), kWhere);
      HG_CHECK(cudaMemcpy(&copied, host.tensors[1], 1, cudaMemcpyDeviceToHost), kWhere);
      HG_EXPECT_EQ(copied, byte);
      host.expect_right(byte);
    }
    HG_CHECK(cudaGraphExecDestroy(executable), kWhere);
    HG_CHECK(cudaGraphDestroy(graph), kWhere);
  }
}

/// Expects that run, tensor, transport and tensor_count refuse an invalid handle.
void expect_refused(hirgen_handle* handle, const char* text) {
  std::vector<void*> tensors(2);
  hirgen_tensor tensor;
  HG_EXPECT_EQ(abi_run(handle, nullptr, tensors.data(), 2), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(handle), text);
  HG_EXPECT_EQ(abi_tensor(handle, 0, &tensor), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(handle), text);
  HG_EXPECT_EQ(std::string(abi_transport(handle)), std::string());
  HG_EXPECT_EQ(abi_tensor_count(handle), 0U);
}

HG_TEST(a_handle_that_is_destroyed_null_or_foreign_is_refused) {
  Host host;
  hirgen_handle* const destroyed = host.handle;
  HG_EXPECT_EQ(abi_destroy(destroyed), HIRGEN_OK);
  // A new handle never gets the address of a destroyed one.
  const Host later;
  host.handle = nullptr;
  expect_refused(destroyed, "the handle was destroyed");
  HG_EXPECT_EQ(abi_destroy(destroyed), HIRGEN_USAGE);
  HG_EXPECT_CONTAINS(abi_last_error(destroyed), "the handle was destroyed");
  int other = 0;
  expect_refused(reinterpret_cast<hirgen_handle*>(&other), "is not one that this library's create");
  HG_EXPECT_EQ(abi_destroy(reinterpret_cast<hirgen_handle*>(&other)), HIRGEN_USAGE);
  expect_refused(nullptr, "the handle is null");
  HG_EXPECT_EQ(abi_destroy(nullptr), HIRGEN_OK);
  later.expect_right(1);
}

HG_TEST(two_handles_share_a_stream) {
  const Host first;
  const Host second;
  for (int i = 0; i < 20; ++i) {
    HG_EXPECT_EQ(second.run(first.stream, {first.tensors[0], second.tensors[0]}), HIRGEN_OK);
    HG_EXPECT_EQ(first.run(first.stream, {second.tensors[0], second.tensors[1]}), HIRGEN_OK);
  }
  HG_CHECK(cudaStreamSynchronize(first.stream), kWhere);
  first.expect_right(1);
  second.expect_right(2);
}

HG_TEST(calls_of_several_threads_come_one_after_another) {
  const Host host(1);
  const auto calls = [&] {
    int device = -1;
    for (int i = 0; i < 50; ++i) {
      HG_EXPECT_EQ(host.run(), HIRGEN_OK);
      if (i % 10 != 0) continue;
      HG_EXPECT_EQ(host.run(host.stream, {nullptr, nullptr}), HIRGEN_USAGE);
      HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the pointer of tensor A is null");
    }
    HG_CHECK(cudaGetDevice(&device), kWhere);
    HG_EXPECT_EQ(device, 0);  // calls do not change the device of a thread
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(calls);
  for (std::thread& thread : threads) thread.join();
  host.expect_right(1);
}

HG_TEST(destroy_waits_for_the_calls_of_other_threads) {
  for (int round = 0; round < 5; ++round) {
    Host host;
    std::thread caller([&] {
      int code = HIRGEN_OK;
      while (code == HIRGEN_OK) code = host.run();
      HG_EXPECT_EQ(code, HIRGEN_USAGE);
      HG_EXPECT_CONTAINS(abi_last_error(host.handle), "the handle was destroyed");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    HG_EXPECT_EQ(abi_destroy(host.handle), HIRGEN_OK);
    caller.join();
    host.handle = nullptr;
  }
}

/// A program that copies A to C eight times on the caller's stream. It has no memory or streams of
/// its own.
class Repeat final : public Program {
 public:
  static constexpr size_t kElements = 16 << 20;
  explicit Repeat(Context& context) : context_(context) {}
  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    for (int i = 0; i < 8; ++i) {
      HG_CHECK(cudaMemcpyAsync(tensors[1], tensors[0], kElements * sizeof(float),
                               cudaMemcpyDeviceToDevice, caller),
               kWhere);
    }
    context_.call_issued(caller);
  }

 private:
  Context& context_;
};

HG_TEST(destroy_waits_for_the_calls_on_the_callers_stream) {
  ProgramTable table = copy_table(/*graph=*/false);
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Repeat>(context);
  };
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.world = 1;
  hirgen_handle* handle = nullptr;
  HG_EXPECT_EQ(abi_create(table, &options, &handle), HIRGEN_OK);
  void* tensors[2] = {};
  for (void*& tensor : tensors) {
    HG_CHECK(cudaMalloc(&tensor, Repeat::kElements * sizeof(float)), kWhere);
  }
  cudaStream_t stream = nullptr;
  HG_CHECK(cudaStreamCreate(&stream), kWhere);
  HG_EXPECT_EQ(abi_run(handle, stream, tensors, 2), HIRGEN_OK);
  HG_EXPECT_EQ(abi_destroy(handle), HIRGEN_OK);
  HG_EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  HG_CHECK(cudaStreamDestroy(stream), kWhere);
  for (void* tensor : tensors) HG_CHECK(cudaFree(tensor), kWhere);
}

/// A program on a rank that has no part of any tensor: run() gets null for both tensors.
class Elsewhere final : public Program {
 public:
  explicit Elsewhere(Context& context) : context_(context) {}
  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    HG_EXPECT((tensors == std::vector<void*>{nullptr, nullptr}));
    context_.call_issued(caller);
  }

 private:
  Context& context_;
};

HG_TEST(a_rank_without_a_part_of_any_tensor_passes_null) {
  ProgramTable table = copy_table(/*graph=*/false);
  table.tensors = [](int rank) {
    std::vector<TensorDesc> tensors = copy_table(/*graph=*/false).tensors(rank);
    for (TensorDesc& tensor : tensors) tensor.present = false;
    return tensors;
  };
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Elsewhere>(context);
  };
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.world = 1;
  hirgen_handle* handle = nullptr;
  HG_EXPECT_EQ(abi_create(table, &options, &handle), HIRGEN_OK);
  HG_EXPECT_EQ(abi_run(handle, nullptr, nullptr, 2), HIRGEN_OK);
  HG_EXPECT_EQ(abi_run(handle, nullptr, nullptr, 2), HIRGEN_OK);
  HG_EXPECT_EQ(abi_destroy(handle), HIRGEN_OK);
}

/// Records two events, and waits for the first after the second is recorded.
class TwoEvents final : public Program {
 public:
  explicit TwoEvents(Context& context)
      : context_(context), events_(context.events("events", kWhere, 2)) {}
  void run(cudaStream_t caller, const std::vector<void*>& /*tensors*/) override {
    HG_CHECK(cudaEventRecord(events_[0], caller), kWhere);
    HG_CHECK(cudaEventRecord(events_[1], caller), kWhere);
    HG_CHECK(cudaStreamWaitEvent(caller, events_[0], 0), kWhere);
    const int64_t call = context_.call();
    const uint64_t first = events_.use_in_call(call, 0), second = events_.use_in_call(call, 1);
    HG_EXPECT(last_ < first && first < second);
    last_ = second;
    context_.call_issued(caller);
  }

 private:
  Context& context_;
  Events events_;
  uint64_t last_ = 0;
};

HG_TEST(events_are_ordered_by_their_records) {
  ProgramTable table = copy_table(/*graph=*/false);
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<TwoEvents>(context);
  };
  hirgen_options options{};
  options.version = HIRGEN_ABI_VERSION;
  options.world = 1;
  hirgen_handle* handle = nullptr;
  HG_EXPECT_EQ(abi_create(table, &options, &handle), HIRGEN_OK);
  void* tensors[2] = {};
  for (void*& tensor : tensors) HG_CHECK(cudaMalloc(&tensor, kBytes), kWhere);
  for (int64_t call = 0; call < Events::kCalls + 2; ++call) {
    HG_EXPECT_EQ(abi_run(handle, nullptr, tensors, 2), HIRGEN_OK);
  }
  HG_EXPECT_EQ(abi_destroy(handle), HIRGEN_OK);
  for (void* tensor : tensors) HG_CHECK(cudaFree(tensor), kWhere);
}

HG_TEST(threads_with_a_handle_each_call_at_a_time) {
  const Host hosts[2];
  std::vector<std::thread> threads;
  for (const Host& host : hosts) {
    threads.emplace_back([&host] {
      for (int i = 0; i < 20; ++i) host.expect_right(static_cast<float>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
