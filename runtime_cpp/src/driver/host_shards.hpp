// A rank's shard of a whole tensor in host memory, without conversion of elements.
#pragma once

#include <vector>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// The shard that `desc`'s rank holds of a whole tensor.
std::vector<char> take_shard(const char* whole, const TensorDesc& desc);

/// Writes that shard to its place in a whole tensor.
void put_shard(std::vector<char>* whole, const TensorDesc& desc, const char* local);

}  // namespace hirgen
