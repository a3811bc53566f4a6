// Objects of the caller that graphs own. The destructor of an object is called when the last graph
// or executable graph that owns it is destroyed. Also cudaStreamGetCaptureInfo.
#include <cuda_runtime.h>

#include <memory>

#include "core/error.hpp"
#include "core/handles.hpp"
#include "graph/capture.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

struct CUuserObject_st {
  void* object;
  cudaHostFn_t destroy;

  CUuserObject_st(void* object, cudaHostFn_t destroy) : object(object), destroy(destroy) {}
  ~CUuserObject_st() { destroy(object); }
  CUuserObject_st(const CUuserObject_st&) = delete;
  CUuserObject_st& operator=(const CUuserObject_st&) = delete;
};

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags) {
  return api("cudaUserObjectCreate", [&] {
    require(object_out != nullptr && destroy != nullptr, "null result or destructor");
    require(flags == cudaUserObjectNoDestructorSync, "the flag is required");
    require(initialRefcount == 1, "the CPU device knows objects of one reference");
    *object_out = Handles<CUuserObject_st>::get().add(new CUuserObject_st(ptr, destroy));
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count, unsigned int flags) {
  return api("cudaGraphRetainUserObject", [&] {
    require(count == 1 && flags == cudaGraphUserObjectMove, "the CPU device knows moves alone");
    const std::shared_ptr<Kept> kept = kept_by(graph);
    kept->push_back(
        std::unique_ptr<CUuserObject_st>(Handles<CUuserObject_st>::get().remove(object)));
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, cudaGraph_t* graph_out,
                                     const cudaGraphNode_t** dependencies_out,
                                     const cudaGraphEdgeData** edgeData_out,
                                     size_t* numDependencies_out) {
  return api("cudaStreamGetCaptureInfo", [&] {
    require(captureStatus_out != nullptr, "null result");
    require(id_out == nullptr && dependencies_out == nullptr && edgeData_out == nullptr &&
                numDependencies_out == nullptr,
            "the CPU device knows the status and the graph alone");
    if (stream == nullptr) forbid_default_stream_beside_capture();
    const std::shared_ptr<Capture> capture = capture_of(stream);
    *captureStatus_out = status_of(capture);
    if (graph_out != nullptr && *captureStatus_out == cudaStreamCaptureStatusActive) {
      *graph_out = capture->graph();
    }
  });
}
