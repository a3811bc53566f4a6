// Algorithms of cuBLASLt as data: their identity and their attributes.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.hpp"

namespace hirgen {

/// The scope in which an algorithm's bytes are valid: one GPU model and one cuBLASLt version.
struct Library {
  std::string gpu;       ///< "NVIDIA H200"
  int64_t cublaslt = 0;  ///< cublasLtGetVersion(): 130002

  bool operator==(const Library&) const = default;
};

/// The library of a device ordinal, with the loaded cuBLASLt.
Library library_of(int device);

/// "NVIDIA H200, cuBLASLt 130002".
std::string library_text(const Library& library);

/// The configuration of an algorithm, for readers: numbers as cuBLASLt enumerates them
/// (cublasLtMatmulAlgoConfigAttributes_t), -1 if unknown.
struct AlgorithmAttributes {
  int64_t id = -1, tile = -1, stages = -1, split_k = -1, reduction = -1, swizzle = -1, custom = -1,
          inner_shape = -1, cluster = -1;
};

/// Names of the attributes in files and reports, with their members, in order.
struct AttributeName {
  const char* name;
  int64_t AlgorithmAttributes::* member;
};
inline constexpr AttributeName kAttributeNames[] = {
    {"id", &AlgorithmAttributes::id},
    {"tile", &AlgorithmAttributes::tile},
    {"stages", &AlgorithmAttributes::stages},
    {"split_k", &AlgorithmAttributes::split_k},
    {"reduction", &AlgorithmAttributes::reduction},
    {"swizzle", &AlgorithmAttributes::swizzle},
    {"custom", &AlgorithmAttributes::custom},
    {"inner_shape", &AlgorithmAttributes::inner_shape},
    {"cluster", &AlgorithmAttributes::cluster},
};

AlgorithmAttributes attributes_of(const cublasLtMatmulAlgo_t& algorithm);

/// "id 66 tile 20 stages 35 split_k 1 ..."; without attributes that are 0 or unknown.
std::string attributes_text(const AlgorithmAttributes& attributes);

/// Adds an object "attributes", without unknown attributes.
void write_attributes(JsonWriter& json, const AlgorithmAttributes& attributes);

/// The opaque bytes as 128 hexadecimal digits, and back; nothing for any other text.
std::string algorithm_hex(const cublasLtMatmulAlgo_t& algorithm);
std::optional<cublasLtMatmulAlgo_t> parse_algorithm(const std::string& hex);

/// Whether two algorithms are the same bytes.
bool same_algorithm(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b);

}  // namespace hirgen
