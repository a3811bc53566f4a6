// The memory that GEMMs and attentions of a stream work in, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hirgen {

/// The bytes of a workspace in which each of some plans (MatmulPlan, AttentionPlan,
/// AttentionGradPlan) can be called. It may be 0.
template <typename... Plans>
size_t workspace_for(const Plans&... plans) {
  return std::max({plans.room()...});
}

}  // namespace hirgen
