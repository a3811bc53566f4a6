// Attention by cuDNN's graph API, for the shapes that its fused kernels support.
#pragma once

#include <optional>
#include <string>

#include "attention/method.hpp"

namespace hirgen {

/// Plans the problem with cuDNN; returns nullopt and sets `*reason` if cuDNN cannot compute it.
/// Building a plan is slow; calls are not.
template <typename Problem>
std::optional<AttentionMethod<Problem>> plan_by_cudnn(const Problem& problem, std::string* reason);

}  // namespace hirgen
