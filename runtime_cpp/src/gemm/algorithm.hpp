// Algorithms of GEMM libraries as data: their identity and their attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "gemm/library.hpp"

namespace hirgen {

/// The scope in which an algorithm's bytes are valid: one GPU model and one version of a library.
struct AlgorithmScope {
  std::string gpu;      ///< model of the GPU: "NVIDIA H200"
  std::string library;  ///< GemmLibrary::name: "cuBLASLt"
  int64_t version = 0;  ///< GemmLibrary::version(): 130002

  bool operator==(const AlgorithmScope&) const = default;
};

/// The scope of a library's algorithms on a GPU model.
AlgorithmScope scope_of(const std::string& gpu, const GemmLibrary& library);

/// The scopes of all libraries on the device with this ordinal, the preferred library's first.
std::vector<AlgorithmScope> scopes_of(int device);

/// Scopes as text, for messages: "NVIDIA H200, cuBLASLt 130002". All scopes are of one GPU model,
/// which the text names once, before all libraries. "no GPU" without scopes.
std::string scope_text(const AlgorithmScope& scope);
std::string scope_text(const std::vector<AlgorithmScope>& scopes);

/// The attributes of an algorithm; none if this process lacks its library or the bytes are invalid.
AlgorithmAttributes attributes_of(const GemmAlgorithm& algorithm);

/// Attributes as text: "id 66 tile 20 stages 35 split_k 1 ...". Leaves out attributes that are 0,
/// except the first.
std::string attributes_text(const AlgorithmAttributes& attributes);

/// Adds an object "attributes" with a member for each attribute.
void write_attributes(JsonWriter& json, const AlgorithmAttributes& attributes);

/// hex_of() writes bytes as hexadecimal digits, two for each byte. parse_hex() reads such a text,
/// and returns nullopt for any other.
std::string hex_of(const std::string& bytes);
std::optional<std::string> parse_hex(const std::string& hex);

}  // namespace hirgen
