// The position of one rank's shard in the whole tensor.
#pragma once

#include <cstdint>

#include "hirgen/parallel_for.hpp"
#include "hirgen/tensor.hpp"
#include "hirgen/views.hpp"

namespace hirgen {

/// Maps indices of elements in the shard (local) to indices in the whole tensor (global). Both are
/// row-major over the logical axes.
struct Placement {
  int64_t base = 0;  ///< global index of the shard's first element
  Walk<1> walk;      ///< over the shard's extents, with the strides of the whole tensor

  HG_HOST_DEVICE int64_t global(int64_t local) const {
    int64_t at[1];
    walk.offsets(local, at);
    return base + at[0];
  }
};

/// Returns the placement of this rank's shard of `desc`; throws Error(kInternal) for more than
/// kMaxAxes axes.
inline Placement placement_of(const TensorDesc& desc) {
  if (desc.axes.size() > static_cast<size_t>(kMaxAxes)) {
    throw Error(Code::kInternal, desc.where + ": " + desc.name + " has more than " +
                                     std::to_string(kMaxAxes) + " axes");
  }
  Placement placement;
  int64_t stride = desc.elements();
  for (const Axis& axis : desc.axes) {
    stride /= axis.extent;
    placement.base += axis.mesh_coordinate * axis.local() * stride;
    placement.walk.append(axis.local(), {stride});
  }
  return placement;
}

}  // namespace hirgen
