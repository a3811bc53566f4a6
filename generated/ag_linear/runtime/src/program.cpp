#include "hirgen/program.hpp"

#include "hirgen/error.hpp"

namespace hirgen {

void run_call(Context& context, Program& program, cudaStream_t caller,
              const std::vector<void*>& tensors) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  HG_CHECK(cudaStreamIsCapturing(caller, &capture), "begin of call");
  if (capture != cudaStreamCaptureStatusNone) {
    throw Error(Code::kUsage,
                "the caller's stream is being captured: the watchdog could not bound the call; "
                "generate the program with schedule graph: true instead");
  }
  context.begin_call();
  program.run(caller, tensors);
}

}  // namespace hirgen
