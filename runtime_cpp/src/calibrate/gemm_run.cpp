#include "calibrate/gemm_run.hpp"

#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

namespace {

constexpr const char* kGemmRun = "calibrate GEMM";

}  // namespace

GemmRun::GemmRun(Context& context, int64_t extent, DType dtype, cudaStream_t stream)
    : plan_(context.cublas(), {.m = extent, .n = extent, .k = extent, .dtype = dtype}, kGemmRun) {
  TensorDesc desc;
  desc.name = "A";
  desc.dtype = dtype;
  desc.axes = {{extent, 1, 0}, {extent, 1, 0}};
  for (void*& matrix : matrices_) HG_CHECK(cudaMalloc(&matrix, desc.local_bytes()), kGemmRun);
  for (size_t i = 0; i < 2; ++i) fill_normal(matrices_[i], desc, static_cast<int>(i), 1, stream);
}

GemmRun::~GemmRun() {
  for (void* matrix : matrices_) static_cast<void>(cudaFree(matrix));
}

void GemmRun::issue(const MatmulPlan& plan, void* workspace, cudaStream_t stream) const {
  const auto& [a, b, c] = matrices_;
  plan.run(a, b, nullptr, c, workspace, stream, kGemmRun);
}

}  // namespace hirgen
