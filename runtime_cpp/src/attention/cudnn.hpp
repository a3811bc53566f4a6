// Attention by cuDNN's graph API: its fused kernels, for what they support.
#pragma once

#include <optional>
#include <string>

#include "attention/method.hpp"

namespace hirgen {

/// cuDNN's plan for the problem, or nothing and why. Building one takes long; no call does.
template <typename Problem>
std::optional<AttentionMethod<Problem>> plan_by_cudnn(const Problem& problem, std::string* reason);

}  // namespace hirgen
