#include "blaslt/algorithm.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "blaslt/descriptor.hpp"
#include "blaslt/gemm_task.hpp"
#include "blaslt/shapes.hpp"
#include "core/error.hpp"

namespace hirgen_cpu {
namespace {

constexpr uint64_t kAlgorithm = 0x6872676e;

/// The properties of an algorithm; its id is its index in kDesigns. The last algorithm uses 10 ms
/// of processor time after each GEMM, so that it is clearly slower than the others even on a busy
/// machine.
struct Design {
  Tiling tiling;
  uint32_t tile, stages;  ///< values of cublasLtMatmulTile_t and cublasLtMatmulStages_t
  size_t workspace_bytes;
  std::chrono::milliseconds extra{0};
};
constexpr Design kDesigns[] = {
    {{128, 256, false}, 20, 37, kUsedWorkspace},
    {{128, 256, true}, 20, 37, kUsedWorkspace / 2},
    {{64, 64, false}, 15, 13, 0},
    {{16, 16, false}, 5, 1, kUsedWorkspace, std::chrono::milliseconds(10)},
};
constexpr auto kDesignCount = static_cast<long>(std::size(kDesigns));

/// Returns the ids that the heuristic offers, best guess first: the list in HIRGEN_CPU_ALGORITHMS
/// ("3,0"), or all ids if the variable is unset or empty. Throws Failure if the list is malformed.
std::vector<int32_t> offered_ids() {
  const char* text = getenv("HIRGEN_CPU_ALGORITHMS");
  if (text == nullptr || *text == '\0') return {0, 1, 2, 3};
  std::vector<int32_t> ids;
  for (const char* next = text;; ++next) {
    char* end = nullptr;
    const long id = strtol(next, &end, 10);
    if (end == next || (*end != ',' && *end != '\0') || id < 0 || id >= kDesignCount) {
      throw Failure{cudaErrorInvalidValue,
                    format("HIRGEN_CPU_ALGORITHMS=%s is not a list of numbers from 0 to %ld", text,
                           kDesignCount - 1)};
    }
    ids.push_back(static_cast<int32_t>(id));
    if (*end == '\0') return ids;
    next = end;
  }
}

cublasLtMatmulHeuristicResult_t result_of(int32_t id, const Preference& preference) {
  const size_t bytes = std::min<size_t>(preference.workspace_bytes, kDesigns[id].workspace_bytes);
  Algorithm algorithm{kAlgorithm, bytes, {}, id};
  std::copy_n(preference.alignment, 4, algorithm.alignment);
  cublasLtMatmulHeuristicResult_t result{};
  memcpy(&result.algo, &algorithm, sizeof algorithm);
  result.workspaceSize = bytes;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

template <class T>
void answer(T value, void* buf, size_t bytes, size_t* written) {
  require(buf != nullptr && bytes == sizeof value, "the buffer is not the attribute's size");
  memcpy(buf, &value, sizeof value);
  if (written != nullptr) *written = sizeof value;
}

}  // namespace

bool is_algorithm(const Algorithm& algorithm) {
  return algorithm.magic == kAlgorithm && algorithm.id >= 0 && algorithm.id < kDesignCount &&
         algorithm.workspace_bytes <= kDesigns[algorithm.id].workspace_bytes;
}

Tiling tiling_of(const Algorithm& algorithm) { return kDesigns[algorithm.id].tiling; }

std::chrono::milliseconds extra_of(const Algorithm& algorithm) {
  return kDesigns[algorithm.id].extra;
}

}  // namespace hirgen_cpu

using namespace hirgen_cpu;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  return blas_api("cublasLtMatmulAlgoGetHeuristic", [&] {
    require(lightHandle != nullptr && preference != nullptr, "null handle or preference");
    require(requestedAlgoCount > 0 && heuristicResultsArray != nullptr, "no room for a result");
    check_shapes(open(operationDesc), open(Adesc), open(Bdesc), open(Cdesc), open(Ddesc));
    int found = 0;
    for (const int32_t id : offered_ids()) {
      if (found == requestedAlgoCount) break;
      heuristicResultsArray[found++] = result_of(id, open(preference));
    }
    if (returnAlgoCount != nullptr) *returnAlgoCount = found;
  });
}

// Callers check untrusted algorithms with the next two functions, which therefore print no message
// for an invalid algorithm.
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle,
                                       cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algo != nullptr && !is_algorithm(open(*algo))) return CUBLAS_STATUS_INVALID_VALUE;
  return blas_api("cublasLtMatmulAlgoCheck", [&] {
    require(lightHandle != nullptr && algo != nullptr && result != nullptr, "a null pointer");
    check_shapes(open(operationDesc), open(Adesc), open(Bdesc), open(Cdesc), open(Ddesc));
    result->workspaceSize = open(*algo).workspace_bytes;
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = 1;
  });
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    void* buf, size_t sizeInBytes,
                                                    size_t* sizeWritten) {
  if (algo != nullptr && !is_algorithm(open(*algo))) return CUBLAS_STATUS_INVALID_VALUE;
  return blas_api("cublasLtMatmulAlgoConfigGetAttribute", [&] {
    require(algo != nullptr, "null algorithm");
    const int32_t id = open(*algo).id;
    const Design& design = kDesigns[id];
    const auto number = [&](uint32_t value) { answer(value, buf, sizeInBytes, sizeWritten); };
    switch (attr) {
      case CUBLASLT_ALGO_CONFIG_ID:
        return answer(id, buf, sizeInBytes, sizeWritten);
      case CUBLASLT_ALGO_CONFIG_TILE_ID:
        return number(design.tile);
      case CUBLASLT_ALGO_CONFIG_STAGES_ID:
        return number(design.stages);
      case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
        return number(design.tiling.rows_first ? 1 : 0);
      case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
        return answer(int32_t{1}, buf, sizeInBytes, sizeWritten);
      case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
        return number(0);
      case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
      case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
        return answer(uint16_t{0}, buf, sizeInBytes, sizeWritten);
    }
    throw Failure{cudaErrorInvalidValue, "an unknown attribute"};
  });
}
