#include "abi/callers_graphs.hpp"

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "hirgen/error.hpp"

namespace hirgen {
namespace {

constexpr const char* kWhere = "capture of a call";
constexpr double kWaitSeconds = 0.5;

cudaGraph_t graph_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  HG_CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr),
           kWhere);
#else
  HG_CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr), kWhere);
#endif
  return status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

}  // namespace

void CallersGraphs::add_call(cudaStream_t stream) {
  const cudaGraph_t graph = graph_of(stream);
  if (graph == nullptr) return;
  auto count = std::make_unique<std::shared_ptr<Count>>(calls_);
  const auto end_of_graph = [](void* object) {
    const std::unique_ptr<std::shared_ptr<Count>> ended(
        static_cast<std::shared_ptr<Count>*>(object));
    ended->get()->fetch_sub(1);
  };
  cudaUserObject_t object = nullptr;
  HG_CHECK(
      cudaUserObjectCreate(&object, count.get(), end_of_graph, 1, cudaUserObjectNoDestructorSync),
      kWhere);
  count.release()->get()->fetch_add(1);
  HG_CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), kWhere);
}

int64_t CallersGraphs::remaining() const {
  const Deadline limit = after(kWaitSeconds);
  Backoff backoff;
  while (*calls_ > 0 && Clock::now() < limit) backoff.pause();
  return *calls_;
}

}  // namespace hirgen
