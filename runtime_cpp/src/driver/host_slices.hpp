// A rank's slice of a whole tensor in host memory, element bytes untouched.
#pragma once

#include <vector>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// The slice that `desc`'s rank holds of a whole tensor.
std::vector<char> take_slice(const char* whole, const TensorDesc& desc);

/// Writes that slice to its place in a whole tensor.
void put_slice(std::vector<char>* whole, const TensorDesc& desc, const char* local);

}  // namespace hirgen
