#include "gemm/algorithm.hpp"

#include <charconv>

#include "base/text.hpp"
#include "context/device.hpp"

namespace hirgen {

AlgorithmScope scope_of(const std::string& gpu, const GemmLibrary& library) {
  return {gpu, library.name, library.version()};
}

std::vector<AlgorithmScope> scopes_of(int device) {
  const std::string gpu = device_name(device);
  std::vector<AlgorithmScope> scopes;
  for (const GemmLibrary* library : gemm_libraries()) scopes.push_back(scope_of(gpu, *library));
  return scopes;
}

std::string scope_text(const AlgorithmScope& scope) {
  return scope_text(std::vector<AlgorithmScope>{scope});
}

std::string scope_text(const std::vector<AlgorithmScope>& scopes) {
  std::string text = scopes.empty() ? "no GPU" : scopes.front().gpu;
  for (const auto& [gpu, library, version] : scopes) {
    text += format(", %s %ld", library.c_str(), static_cast<long>(version));
  }
  return text;
}

AlgorithmAttributes attributes_of(const GemmAlgorithm& algorithm) {
  const GemmLibrary* library = find_gemm_library(algorithm.library);
  return library == nullptr ? AlgorithmAttributes() : library->attributes(algorithm.bytes);
}

std::string attributes_text(const AlgorithmAttributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    const bool first = text.empty();
    if (value == 0 && !first) continue;
    text += format("%s%s %ld", first ? "" : " ", name.c_str(), static_cast<long>(value));
  }
  return text;
}

void write_attributes(JsonWriter& json, const AlgorithmAttributes& attributes) {
  json.begin_object("attributes");
  for (const auto& [name, value] : attributes) json.value(name.c_str(), value);
  json.end_object();
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += format("%02x", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> parse_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const char* digits = hex.data() + i;
    const char* end = hex.data() + hex.size();
    unsigned char byte = 0;
    const auto [stop, error] =
        std::from_chars(digits, end - digits < 2 ? end : digits + 2, byte, 16);
    if (error != std::errc() || stop != digits + 2) return {};
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace hirgen
