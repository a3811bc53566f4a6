// The ways to compute an attention. Each says of a problem whether it can, once, before any call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>

#include "hirgen/attention.hpp"

namespace hirgen {

/// One attention: what is computed, and where its operands lie.
struct AttentionProblem {
  using Operands = AttentionOperands;
  AttentionShape shape;
  AttentionLayout layout;

  bool operator==(const AttentionProblem&) const = default;
};

/// The gradient of one.
struct AttentionGradProblem {
  using Operands = AttentionGradOperands;
  AttentionShape shape;
  AttentionLayout layout, gradients;

  bool operator==(const AttentionGradProblem&) const = default;
};

/// A way to compute a problem, made for it.
template <typename Problem>
struct AttentionMethod {
  std::string name;  ///< for reports: "cuDNN 9.19.0"
  size_t workspace_bytes = 0;
  std::function<void(const typename Problem::Operands&, void* workspace, cudaStream_t,
                     const char* where)>
      run;
};

}  // namespace hirgen
