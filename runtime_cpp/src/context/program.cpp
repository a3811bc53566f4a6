#include "hirgen/program.hpp"

#include "hirgen/error.hpp"

namespace hirgen {

void refuse_capture(cudaStream_t caller) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(caller, &capture);
  if (status == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    throw Error(Code::kUsage,
                "the caller's stream is the default stream, which waits for a stream that is being "
                "captured: end that capture first");
  }
  HG_CHECK(status, "begin of call");
  if (capture != cudaStreamCaptureStatusNone) {
    throw Error(Code::kUsage,
                "the caller's stream is being captured: the watchdog could not bound the call; "
                "generate the program with schedule graph: true instead");
  }
}

void run_call(Context& context, Program& program, cudaStream_t caller,
              const std::vector<void*>& tensors) {
  refuse_capture(caller);
  context.begin_call();
  program.run(caller, tensors);
}

}  // namespace hirgen
