#include "hirgen/graph.hpp"

#include <algorithm>

#include "hirgen/matmul.hpp"

namespace hirgen {

std::atomic<int64_t> calls_per_graph{1};
std::atomic<bool> capture_first_calls{false};

GraphCache::~GraphCache() {
  // Destructors do not throw. Errors of a lost device were reported earlier.
  forget_all();
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

void GraphCache::launch(cudaStream_t caller, const std::vector<void*>& tensors,
                        const Issue& issue) {
  cudaStreamCaptureStatus capture_of_caller = cudaStreamCaptureStatusNone;
  HG_CHECK(cudaStreamIsCapturing(caller, &capture_of_caller), where_);
  if (capture_of_caller != cudaStreamCaptureStatusNone) return issue(caller);
  if (const uint64_t changes = plan_changes.load(); changes != plan_changes_) {
    forget_all();  // a graph holds the algorithms that it was captured with
    plan_changes_ = changes;
  }
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.tensors == tensors; });
  const bool is_new = found == entries_.end();
  if (is_new) {
    if (entries_.size() == kMostLists) forget_last();
    entries_.push_front({tensors, nullptr});
  } else {
    entries_.splice(entries_.begin(), entries_, found);
  }
  cudaGraphExec_t& graph = entries_.front().graph;
  if (is_new && !capture_first_calls) return issue(caller);
  if (graph == nullptr) graph = capture(issue);
  HG_CHECK(cudaGraphLaunch(graph, caller), where_);
}

// Drops the list of tensors that was used least recently, and its graph. If the graph still runs,
// CUDA frees it when the run ends.
void GraphCache::forget_last() {
  if (entries_.back().graph != nullptr) (void)cudaGraphExecDestroy(entries_.back().graph);
  entries_.pop_back();
}

void GraphCache::forget_all() {
  while (!entries_.empty()) forget_last();
}

cudaGraphExec_t GraphCache::capture(const Issue& issue) {
  if (stream_ == nullptr) {
    HG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), where_);
  }
  // Thread-local: other threads may go on calling CUDA during the capture, as DeviceMonitor's does.
  HG_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), where_);
  cudaGraph_t graph = nullptr;
  try {
    for (int64_t i = 0; i < calls_per_graph; ++i) issue(stream_);
  } catch (...) {
    (void)cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    throw;
  }
  HG_CHECK(cudaStreamEndCapture(stream_, &graph), where_);
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  HG_CHECK(status, where_);
  return executable;
}

}  // namespace hirgen
