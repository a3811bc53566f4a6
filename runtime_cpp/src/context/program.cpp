#include "hirgen/program.hpp"

#include "hirgen/error.hpp"

namespace hirgen {

bool is_captured(cudaStream_t caller, bool capturable) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(caller, &capture);
  if (status == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    throw Error(Code::kUsage,
                "the caller's stream is the default stream, which waits for a stream that is being "
                "captured: end that capture first");
  }
  HG_CHECK(status, "begin of call");
  const bool captured = capture != cudaStreamCaptureStatusNone;
  if (captured && !capturable) {
    throw Error(Code::kUsage,
                "the caller's stream is being captured, and the host numbers the calls of this "
                "program: emit it with schedule graph: true");
  }
  return captured;
}

void run_call(Context& context, Program& program, cudaStream_t caller,
              const std::vector<void*>& tensors, bool captured) {
  context.begin_call(captured);
  program.run(caller, tensors);
}

}  // namespace hirgen
