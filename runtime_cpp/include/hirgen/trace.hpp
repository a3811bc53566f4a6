// Records the calls of a program for its trace (--trace). A program calls CUDA, NCCL and cuBLASLt
// by the names of their functions. Within HG_CHECK, the names in HG_TRACED_CALLS refer to objects
// of this file. Each object reports the call to this thread's recorder, if there is one, and calls
// the function.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <type_traits>

#include "hirgen/collective_rows.hpp"
#include "hirgen/gemm_call.hpp"

namespace hirgen {

class TraceRecorder;

/// The kinds of calls in a trace.
enum class TraceKind {
  kGemm,
  kNccl,
  kCopy,
  kKernel,
  kFlagWrite,
  kFlagWait,
  kEventRecord,
  kEventWait,
  kGroupStart,  ///< NCCL calls until kGroupEnd start together; both kinds have no stream
  kGroupEnd,
};

/// The recorder of this thread's calls (src/trace/recorder.hpp); null if this thread records no
/// trace.
extern constinit thread_local TraceRecorder* trace_recorder;

/// Records one call, which lasts from construction to destruction. Does nothing if this thread has
/// no recorder.
class TracedCall {
 public:
  /// `where` is the label of the statement, a string that outlives the trace; null: the current
  /// host_position. `event` is the event that the stream records or waits for; null for other
  /// kinds.
  TracedCall(TraceKind kind, const char* name, cudaStream_t stream, const char* where = nullptr,
             cudaEvent_t event = nullptr)
      : kind_(kind), recorder_(trace_recorder) {
    if (recorder_ != nullptr) [[unlikely]]
      begin(name, where, stream, event);
  }
  ~TracedCall() {
    if (recorder_ != nullptr) [[unlikely]]
      end();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

 private:
  void begin(const char* name, const char* where, cudaStream_t stream, cudaEvent_t event);
  void end();

  TraceKind kind_;
  TraceRecorder* recorder_;
};

/// A function that is traced as `name` when it is called. The arguments of type cudaStream_t and
/// cudaEvent_t are the stream and the event of the traced call.
template <TraceKind kind, typename Function>
struct TracedFunction;

template <TraceKind kind, typename Result, typename... Parameters>
struct TracedFunction<kind, Result(Parameters...)> {
  const char* name;
  Result (*function)(Parameters...);

  Result operator()(Parameters... parameters) const {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    (note(parameters, stream, event), ...);
    const TracedCall traced(kind, name, stream, nullptr, event);
    return function(parameters...);
  }

 private:
  template <typename T>
  static void note(const T& parameter, cudaStream_t& stream, cudaEvent_t& event) {
    if constexpr (std::is_same_v<T, cudaStream_t>) stream = parameter;
    if constexpr (std::is_same_v<T, cudaEvent_t>) event = parameter;
  }
};

template <TraceKind kind, typename Function>
struct Traced : TracedFunction<kind, Function> {};

/// cublasLtMatmul. If it gets MatmulPlan::op in place of a descriptor, it runs the library that the
/// plan has chosen.
template <>
struct Traced<TraceKind::kGemm, decltype(::cublasLtMatmul)>
    : TracedFunction<TraceKind::kGemm, decltype(::cublasLtMatmul)> {
  using TracedFunction::operator();

  // cuBLASLt is column-major: its first operand is B, see MatmulPlan.
  cublasStatus_t operator()(cublasLtHandle_t cublas, const GemmOp& op, const void* alpha,
                            const void* b, cublasLtMatrixLayout_t layout_b, const void* a,
                            cublasLtMatrixLayout_t layout_a, const void* beta, const void* added,
                            cublasLtMatrixLayout_t layout_added, void* c,
                            cublasLtMatrixLayout_t layout_c, const cublasLtMatmulAlgo_t* algo,
                            void* workspace, size_t workspace_bytes, cudaStream_t stream) const {
    if (op.other == nullptr) [[likely]] {
      return (*this)(cublas, op.cublaslt, alpha, b, layout_b, a, layout_a, beta, added,
                     layout_added, c, layout_c, algo, workspace, workspace_bytes, stream);
    }
    run_other_library(op, a, b, added, c, workspace, stream);
    return CUBLAS_STATUS_SUCCESS;
  }
};

}  // namespace hirgen

/// The traced functions: the functions of cuBLASLt, CUDA and NCCL with which emitted programs put
/// work on streams, except cudaGraphLaunch (--trace excludes graphs). The flag operations of
/// StreamMemory (flags.hpp) and kernels are traced where they are defined.
#define HG_TRACED_CALLS(EACH)           \
  EACH(kGemm, cublasLtMatmul)           \
  EACH(kCopy, cudaMemcpyAsync)          \
  EACH(kEventRecord, cudaEventRecord)   \
  EACH(kEventWait, cudaStreamWaitEvent) \
  HG_NCCL_COLLECTIVES(EACH)             \
  EACH(kNccl, ncclSend)                 \
  EACH(kNccl, ncclRecv)                 \
  EACH(kGroupStart, ncclGroupStart)     \
  EACH(kGroupEnd, ncclGroupEnd)

// NOLINTBEGIN(bugprone-macro-parentheses): `call` is a name.
#define HG_DEFINE_TRACED(kind, call) \
  [[maybe_unused]] inline constexpr Traced<TraceKind::kind, decltype(::call)> call{#call, &::call};
// NOLINTEND(bugprone-macro-parentheses)
#define HG_USE_TRACED(kind, call) using ::hirgen::traced_calls::call;

namespace hirgen::traced_calls {

HG_TRACED_CALLS(HG_DEFINE_TRACED)  // NOLINT(readability-identifier-naming)

}  // namespace hirgen::traced_calls
