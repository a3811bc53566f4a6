// Tests of the GraphCache, which issues, captures or launches the calls of a program with a CUDA
// graph.
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "hirgen/error.hpp"
#include "hirgen/graph.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

constexpr const char* kWhere = "a.yaml graphs";
constexpr int kLists = GraphCache::kMostLists;

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  HG_CHECK(cudaStreamIsCapturing(stream, &status), kWhere);
  return status != cudaStreamCaptureStatusNone;
}

/// A program that sets 4 bytes in each call.
class Calls {
 public:
  Calls() {
    HG_CHECK(cudaStreamCreate(&stream), kWhere);
    HG_CHECK(cudaMalloc(&memory, sizeof(int32_t) * (kLists + 1)), kWhere);
  }
  ~Calls() {
    static_cast<void>(cudaStreamDestroy(stream));
    static_cast<void>(cudaFree(memory));
  }

  /// Sets tensor `index` in a call. Returns what the cache did: "issued" or "captured", or "" if it
  /// launched an existing graph.
  std::string call(int index) {
    std::string done;
    int32_t* const tensor = memory + index;
    HG_CHECK(cudaMemsetAsync(tensor, 0, sizeof(int32_t), stream), kWhere);
    cache.launch(stream, {tensor}, [&](cudaStream_t on) {
      done = on != stream ? "captured" : "issued";
      HG_EXPECT_EQ(capturing(on), on != stream || capturing(stream));
      HG_CHECK(cudaMemsetAsync(tensor, 1, sizeof(int32_t), on), kWhere);
    });
    return done;
  }
  /// Waits, and returns whether the last call set the tensor.
  bool is_set(int index) {
    int32_t value = 0;
    HG_CHECK(cudaStreamSynchronize(stream), kWhere);
    HG_CHECK(cudaMemcpy(&value, memory + index, sizeof(value), cudaMemcpyDeviceToHost), kWhere);
    return value == 0x01010101;
  }

  cudaStream_t stream = nullptr;
  int32_t* memory = nullptr;
  GraphCache cache{kWhere};
};

HG_TEST(the_second_call_captures) {
  Calls calls;
  for (const char* done : {"issued", "captured", "", ""}) {
    HG_EXPECT_EQ(calls.call(0), done);
    HG_EXPECT(calls.is_set(0));
  }
}

HG_TEST(the_driver_captures_first_calls) {
  capture_first_calls = true;
  Calls calls;
  HG_EXPECT_EQ(calls.call(0), "captured");
  HG_EXPECT(calls.is_set(0));
  HG_EXPECT_EQ(calls.call(0), "");
  capture_first_calls = false;
}

HG_TEST(the_least_recently_used_tensors_are_forgotten) {
  Calls calls;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kLists; ++i) {
      HG_EXPECT_EQ(calls.call(i), round == 0 ? "issued" : "captured");
    }
  }
  HG_EXPECT_EQ(calls.call(0), "");
  HG_EXPECT_EQ(calls.call(kLists), "issued");
  HG_EXPECT_EQ(calls.call(0), "");
  HG_EXPECT_EQ(calls.call(1), "issued");
  HG_EXPECT(calls.is_set(0));
  HG_EXPECT(calls.is_set(1));
}

HG_TEST(the_graph_of_a_caller_contains_the_work) {
  for (const int before : {0, 1, 3}) {
    Calls calls;
    for (int i = 0; i < before; ++i) calls.call(0);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    HG_CHECK(cudaStreamBeginCapture(calls.stream, cudaStreamCaptureModeGlobal), kWhere);
    HG_EXPECT_EQ(calls.call(0), "issued");
    HG_CHECK(cudaStreamEndCapture(calls.stream, &graph), kWhere);
    HG_CHECK(cudaGraphInstantiate(&executable, graph, 0), kWhere);
    HG_CHECK(cudaMemsetAsync(calls.memory, 0, sizeof(int32_t), calls.stream), kWhere);
    HG_EXPECT(!calls.is_set(0));
    HG_CHECK(cudaGraphLaunch(executable, calls.stream), kWhere);
    HG_EXPECT(calls.is_set(0));
    HG_CHECK(cudaGraphExecDestroy(executable), kWhere);
    HG_CHECK(cudaGraphDestroy(graph), kWhere);
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
