#include "driver/host_shards.hpp"

#include <cstring>

namespace hirgen {

namespace {

// Calls copy(offset in the whole, offset in the shard, bytes) for every contiguous run.
template <typename Copy>
void for_each_run(const TensorDesc& desc, const Copy& copy) {
  // Trailing axes that are not split are contiguous in the whole and in the shard.
  size_t run_axis = desc.axes.size();
  size_t whole_bytes = size_of(desc.dtype);
  while (run_axis > 0 && desc.axes[run_axis - 1].mesh_extent == 1) {
    whole_bytes *= static_cast<size_t>(desc.axes[--run_axis].extent);
  }
  size_t run = whole_bytes;
  if (run_axis > 0) run *= static_cast<size_t>(desc.axes[--run_axis].local());
  const size_t runs = run == 0 ? 0 : desc.local_bytes() / run;
  for (size_t i = 0; i < runs; ++i) {
    // Decompose i over the outer axes, innermost first.
    size_t rest = i;
    size_t stride = whole_bytes;
    size_t offset = 0;
    for (size_t axis = desc.axes.size(); axis-- > 0;) {
      if (axis > run_axis) continue;
      const Axis& a = desc.axes[axis];
      const auto local = static_cast<size_t>(a.local());
      size_t index = static_cast<size_t>(a.mesh_coordinate) * local;
      if (axis < run_axis) {
        index += rest % local;
        rest /= local;
      }
      offset += index * stride;
      stride *= static_cast<size_t>(a.extent);
    }
    copy(offset, i * run, run);
  }
}

}  // namespace

void put_shard(std::vector<char>* whole, const TensorDesc& desc, const char* local) {
  for_each_run(desc, [&](size_t to, size_t from, size_t bytes) {
    std::memcpy(whole->data() + to, local + from, bytes);
  });
}

}  // namespace hirgen
