// CUDA graphs of whole calls. A graph is captured in the first or second call with a list of tensor
// pointers, and is then launched in each call with the same pointers.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen {

/// The number of consecutive calls that each newly captured graph contains. It is 1 unless the
/// driver times graphs of several calls.
extern std::atomic<int64_t> calls_per_graph;

/// Whether the first call with a list of tensor pointers captures a graph. The driver sets this. By
/// default, the first call is issued without a graph, and the second call captures one. The reason
/// is that a framework may pass new memory in each call, and a capture takes longer than the call
/// itself.
extern std::atomic<bool> capture_first_calls;

/// The graphs of one program. A graph holds the pointers that it was captured with, so calls with
/// other tensors need another graph. The cache has an entry for each of the kMostLists lists of
/// pointers used last. When the algorithm of any GEMM changes (MatmulPlan::use), the cache drops
/// all graphs, and later calls capture new ones.
class GraphCache {
 public:
  using Issue = std::function<void(cudaStream_t)>;

  /// The largest number of lists that have an entry. It suffices for a model that calls one program
  /// once per layer, each time with the weights of that layer.
  static constexpr size_t kMostLists = 256;

  /// `where` is the spec position for errors, a string that outlives the cache.
  explicit GraphCache(const char* where) : where_(where) {}
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  /// Launches on `caller` a graph of calls_per_graph calls of `issue`, and captures this graph
  /// first if there is none for these tensors. Calls issue(caller) instead if `caller` is being
  /// captured, or if these tensors are new and capture_first_calls is false. Before `issue`
  /// returns, it must join all other streams that it uses to its argument.
  void launch(cudaStream_t caller, const std::vector<void*>& tensors, const Issue& issue);

 private:
  struct Entry {
    std::vector<void*> tensors;
    cudaGraphExec_t graph;  // null until it is captured
  };

  void forget_all();
  void forget_last();
  cudaGraphExec_t capture(const Issue& issue);

  const char* where_;
  cudaStream_t stream_ = nullptr;  // capture is not possible on the default stream
  std::list<Entry> entries_;       // the most recently used one first
  uint64_t plan_changes_ = 0;      // hirgen::plan_changes as of the last launch()
};

}  // namespace hirgen
