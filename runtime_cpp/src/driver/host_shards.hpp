// Copies shards into whole tensors in host memory, without conversion of elements.
#pragma once

#include <vector>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// Writes the shard of `desc`'s rank to its place in a whole tensor.
void put_shard(std::vector<char>* whole, const TensorDesc& desc, const char* local);

}  // namespace hirgen
