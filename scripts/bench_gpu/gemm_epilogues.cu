// Times cuBLASLt's epilogues against GEMMs followed by kernels, and GEMMs that share an operand one
// after the other, as one GEMM, as a batch, and on several streams. All are bf16. It needs one
// kernel of the runtime:
//
//   nvcc -std=c++20 -O3 -arch=sm_90a -I runtime_cpp/include -I NCCL/include -lcublasLt
//     -o gemm_epilogues FILE runtime_cpp/src/kernels/reduce.cu
//   ./gemm_epilogues [epilogues | operands]
//
// A round runs one implementation for about 20 ms and times the second half; a number is the median
// of five rounds. "first" uses the heuristic's first algorithm, "best" the fastest of its first
// eight.
#include <cublasLt.h>

#include <string>

#include "gemm_epilogues/epilogues.hpp"
#include "gemm_epilogues/operands.hpp"

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  for (cudaStream_t& stream : streams) {
    HG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "");
  }
  for (void*& workspace : workspaces) HG_CHECK(cudaMalloc(&workspace, kWorkspace), "");
  for (cudaEvent_t* event : {&begin_event, &end_event}) HG_CHECK(cudaEventCreate(event), "");
  for (cudaEvent_t* event : {&fork_event, &join_events[1], &join_events[2]}) {
    HG_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "");
  }
  HG_CHECK(cublasLtCreate(&cublas), "");
  if (only != "operands") {
    which_gelu();
    epilogues(8192, 7168, 4096);
    epilogues(4096, 14336, 8192);
    epilogues(1024, 14336, 4096);
    epilogues(4096, 6144, 4096);
    epilogues(2872, 5160, 3336);
  }
  if (only != "epilogues") {
    for (const int64_t m : {512, 1024, 4096, 8192}) {
      of_one_operand(m, {7168, 7168}, 4096);
      of_one_operand(m, {14336, 14336}, 8192);
      of_one_operand(m, {4096, 1024, 1024}, 4096);
      of_one_operand(m, {4096, 512, 512}, 8192);
      of_one_operand(m, {5160, 5160}, 3336);
    }
  }
  return 0;
}
