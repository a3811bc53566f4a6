// Graphs: a finished capture, and its launches. A launch puts the captured steps on the launch
// stream (lane 0) and on hidden streams of the executable graph (other lanes), with the captured
// records and waits between them. So the scheduler may use every order that the capture allows.
#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <vector>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/handles.hpp"
#include "graph/capture.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

struct CUgraph_st {
  std::shared_ptr<const Capture> capture;
  std::shared_ptr<Kept> kept;
};

struct CUgraphExec_st {
  std::shared_ptr<const Capture> capture;
  std::shared_ptr<Kept> kept;
  std::vector<std::shared_ptr<Stream>> lanes;  ///< hidden streams of lanes 1 and up
  std::shared_ptr<Stream> last_stream;  ///< where the previous launch ended; null: never launched
  uint64_t last_position = 0;
};

namespace {

struct Point {
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
};

void launch(CUgraphExec_st& graph, const std::shared_ptr<Stream>& origin) {
  Scheduler& scheduler = Scheduler::get();
  // Launches of one executable graph run one after another.
  if (graph.last_stream) push_wait(*origin, graph.last_stream, graph.last_position);
  std::vector<Point> slots(graph.capture->slots());
  for (const GraphStep& step : graph.capture->steps()) {
    const auto& stream = step.lane == 0 ? origin : graph.lanes[step.lane - 1];
    switch (step.kind) {
      case GraphStep::Kind::kCommand:
        step.command(*stream);
        break;
      case GraphStep::Kind::kRecord:
        slots[step.slot] = {stream, scheduler.submitted(*stream)};
        break;
      case GraphStep::Kind::kWait:
        push_wait(*stream, slots[step.slot].stream, slots[step.slot].position);
        break;
    }
  }
  graph.last_stream = origin;
  graph.last_position = scheduler.submitted(*origin);
}

}  // namespace

namespace hirgen_cpu {

cudaGraph_t Capture::graph() {
  if (graph_ == nullptr) {
    graph_ = Handles<CUgraph_st>::get().add(new CUgraph_st{shared_from_this(), kept_});
  }
  return graph_;
}

cudaGraph_t Capture::take_graph() {
  const cudaGraph_t taken = graph();
  kept_.reset();
  return taken;
}

void Capture::drop_graph() {
  if (graph_ != nullptr) delete Handles<CUgraph_st>::get().remove(graph_);
  kept_.reset();
}

std::shared_ptr<Kept> kept_by(cudaGraph_t graph) {
  return Handles<CUgraph_st>::get().check(graph).kept;
}

}  // namespace hirgen_cpu

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return api("cudaStreamEndCapture", [&] {
    require(pGraph != nullptr, "null result");
    *pGraph = nullptr;
    std::shared_ptr<Capture> capture = capture_of(stream);
    if (!capture) throw Failure{cudaErrorIllegalState, "the stream is not capturing"};
    try {
      capture->end(stream);
    } catch (...) {
      if (capture->ended()) capture->drop_graph();
      throw;
    }
    *pGraph = capture->take_graph();
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return api("cudaGraphInstantiate", [&] {
    require(pGraphExec != nullptr && flags == 0, "null result or unknown flags");
    auto exec = std::make_unique<CUgraphExec_st>();
    const CUgraph_st& captured = Handles<CUgraph_st>::get().check(graph);
    exec->capture = captured.capture;
    exec->kept = captured.kept;
    for (size_t lane = 1; lane < exec->capture->lanes(); ++lane) {
      exec->lanes.push_back(
          Scheduler::get().create(current_device(), cudaStreamNonBlocking, clamp_priority(0)));
    }
    *pGraphExec = Handles<CUgraphExec_st>::get().add(exec.release());
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return api("cudaGraphLaunch", [&] {
    CUgraphExec_st& graph = Handles<CUgraphExec_st>::get().check(graphExec);
    forbid_in_capture(stream);
    std::shared_ptr<Stream> origin = resolve(stream);
    submit(stream, [&](Stream&) { launch(graph, origin); });
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return api("cudaGraphExecDestroy", [&] {
    std::unique_ptr<CUgraphExec_st> graph(Handles<CUgraphExec_st>::get().remove(graphExec));
    for (const auto& lane : graph->lanes) Scheduler::get().close(lane);
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api("cudaGraphDestroy", [&] { delete Handles<CUgraph_st>::get().remove(graph); });
}
