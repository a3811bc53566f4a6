#include "gemm/algorithm.hpp"

#include <charconv>
#include <cstring>

#include "base/text.hpp"
#include "context/device.hpp"

namespace hirgen {

namespace {

constexpr size_t kAlgorithmBytes = sizeof(cublasLtMatmulAlgo_t);
static_assert(kAlgorithmBytes == 64);

template <typename T>
int64_t attribute(const cublasLtMatmulAlgo_t& algorithm,
                  cublasLtMatmulAlgoConfigAttributes_t which) {
  T value{};
  size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int64_t>(value) : -1;
}

}  // namespace

Library library_of(int device) {
  return {device_name(device), static_cast<int64_t>(cublasLtGetVersion())};
}

std::string library_text(const Library& library) {
  return format("%s, cuBLASLt %ld", library.gpu.c_str(), static_cast<long>(library.cublaslt));
}

AlgorithmAttributes attributes_of(const cublasLtMatmulAlgo_t& algorithm) {
  AlgorithmAttributes all;
  all.id = attribute<int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID);
  all.tile = attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
  all.stages = attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  all.split_k = attribute<int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  all.reduction = attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  all.swizzle = attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  all.custom = attribute<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  all.inner_shape = attribute<uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  all.cluster = attribute<uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  return all;
}

std::string attributes_text(const AlgorithmAttributes& attributes) {
  std::string text;
  for (const auto& [name, member] : kAttributeNames) {
    const int64_t value = attributes.*member;
    const bool first = text.empty();
    if (value < 0 || (value == 0 && !first)) continue;
    text += format("%s%s %ld", first ? "" : " ", name, static_cast<long>(value));
  }
  return text;
}

void write_attributes(JsonWriter& json, const AlgorithmAttributes& attributes) {
  json.begin_object("attributes");
  for (const auto& [name, member] : kAttributeNames) {
    if (attributes.*member >= 0) json.value(name, attributes.*member);
  }
  json.end_object();
}

std::string algorithm_hex(const cublasLtMatmulAlgo_t& algorithm) {
  unsigned char bytes[kAlgorithmBytes];
  std::memcpy(bytes, &algorithm, kAlgorithmBytes);
  std::string text;
  for (const unsigned char byte : bytes) text += format("%02x", byte);
  return text;
}

std::optional<cublasLtMatmulAlgo_t> parse_algorithm(const std::string& hex) {
  if (hex.size() != 2 * kAlgorithmBytes) return {};
  unsigned char bytes[kAlgorithmBytes];
  for (size_t i = 0; i < kAlgorithmBytes; ++i) {
    const char* digits = hex.data() + 2 * i;
    const auto [stop, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
    if (error != std::errc() || stop != digits + 2) return {};
  }
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bytes, kAlgorithmBytes);
  return algorithm;
}

bool same_algorithm(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) {
  return std::memcmp(&a, &b, kAlgorithmBytes) == 0;
}

}  // namespace hirgen
