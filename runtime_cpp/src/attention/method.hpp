// Attention problems, and the methods that compute them. The method of a problem is chosen and
// prepared when its plan is made, before the first call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>

#include "hirgen/attention.hpp"

namespace hirgen {

/// One attention: its shape and the strides of its operands.
struct AttentionProblem {
  using Operands = AttentionOperands;
  AttentionShape shape;
  AttentionLayout layout;

  bool operator==(const AttentionProblem&) const = default;
};

/// The gradient of one attention. `layout` has the strides of Q, K, V and O, and `gradients` has
/// the strides of their gradients.
struct AttentionGradProblem {
  using Operands = AttentionGradOperands;
  AttentionShape shape;
  AttentionLayout layout, gradients;

  bool operator==(const AttentionGradProblem&) const = default;
};

/// An implementation that is prepared for one problem.
template <typename Problem>
struct AttentionMethod {
  std::string name;  ///< name for reports, such as "cuDNN 9.19.0"
  size_t workspace_bytes = 0;
  std::function<void(const typename Problem::Operands&, void* workspace, cudaStream_t,
                     const char* where)>
      run;
};

}  // namespace hirgen
