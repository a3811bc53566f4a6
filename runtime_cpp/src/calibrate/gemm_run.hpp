// A GEMM with its matrices, for --calibrate.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>

#include "hirgen/context.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// C = A B of square matrices. A and B have normally distributed values, because power draw depends
/// on the data.
class GemmRun {
 public:
  GemmRun(Context& context, int64_t extent, DType dtype, cudaStream_t stream);
  ~GemmRun();
  GemmRun(const GemmRun&) = delete;
  GemmRun& operator=(const GemmRun&) = delete;

  const MatmulShape& shape() const { return plan_.shape(); }
  const std::string& library() const { return plan_.algorithm().library; }
  /// Issues the GEMM. With the plan of a smaller GEMM, issues that GEMM on the first elements of
  /// the matrices.
  void issue(void* workspace, cudaStream_t stream) const { issue(plan_, workspace, stream); }
  void issue(const MatmulPlan& plan, void* workspace, cudaStream_t stream) const;

 private:
  MatmulPlan plan_;
  std::array<void*, 3> matrices_{};
};

}  // namespace hirgen
