#include "gemm/cublaslt.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "gemm/cublaslt_objects.hpp"
#include "gemm/matrix.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

/// Returns the result of calls(). If calls() throws an Error, adds the shape to the message, and
/// the scale modes if the shape has scales.
template <typename Calls>
auto about(const MatmulShape& shape, Calls calls) {
  try {
    return calls();
  } catch (const Error& error) {
    const char* modes = shape.scales       ? " (cuBLASLt's A: BLK128x128_32F, B: VEC128_32F)"
                        : shape.row_scales ? " (cuBLASLt's A and B: OUTER_VEC_32F)"
                                           : "";
    throw Error(error.code(), format("%s; GEMM %s%s", error.what(), describe(shape).c_str(), modes),
                error.suspect());
  }
}

/// Descriptors for one shape, and the algorithm in use.
class CublasltMethod final : public GemmMethod {
 public:
  CublasltMethod(cublasLtHandle_t cublas, const MatmulShape& shape, const char* where)
      : GemmMethod(kCublaslt), cublas_(cublas), shape_(shape), own_(shape, where) {}

  // The first of several algorithms that cuBLASLt offers may not be the one that it offers alone.
  std::vector<MatmulCandidate> candidates(int limit, const char* where) const override {
    std::vector<MatmulCandidate> all = ranked(1, where);
    if (limit == 1 || all.empty()) return all;
    const GemmAlgorithm first = all.front().algorithm;
    for (MatmulCandidate& one : ranked(limit, where)) {
      if (all.size() < static_cast<size_t>(limit) && !(one.algorithm == first))
        all.push_back(std::move(one));
    }
    return all;
  }

  std::optional<MatmulCandidate> check(const std::string& bytes) const override {
    cublasLtMatmulAlgo_t algo;
    if (bytes.size() != sizeof(algo)) return {};
    std::memcpy(&algo, bytes.data(), sizeof(algo));
    cublasLtMatmulHeuristicResult_t found{};
    const GemmCall& own = own_.call;
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(cublas_, own.op.cublaslt, own.b, own.a,
                                                          own.c, own.c, &algo, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found.workspaceSize > kWorkspaceBytes) return {};
    return MatmulCandidate{{kCublaslt.name, bytes}, found.workspaceSize};
  }

  void use(const MatmulCandidate& candidate) override {
    std::memcpy(&own_.call.algo, candidate.algorithm.bytes.data(), sizeof(own_.call.algo));
    own_.call.workspace_bytes = candidate.workspace_bytes;
  }

  void run(const GemmOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const override {
    about(shape_, [&] {
      const auto& [a, b, bias, added, c, scales_a, scales_b] = operands;
      const GemmCall& own = own_.call;
      if (shape_.scales || shape_.row_scales) {
        set_attribute(own.op.cublaslt, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales_b, where);
        set_attribute(own.op.cublaslt, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales_a, where);
      }
      if (shape_.bias) set_cublaslt_bias(own.op.cublaslt, bias, where);
      HG_CHECK(cublasLtMatmul(cublas_, own.op.cublaslt, &kOne, b, own.b, a, own.a,
                              shape_.addend ? &kOne : &kZero, shape_.addend ? added : c, own.c, c,
                              own.c, &own.algo, workspace, own.workspace_bytes, stream),
               where);
    });
  }

  GemmCall call() const override { return own_.call; }

 private:
  /// Up to `limit` algorithms, in the order of the heuristic.
  ///
  /// If 16-bit rows are aligned and k is no multiple of 8, cuBLASLt can use the algorithms of the
  /// next multiple. They are several times as fast, but its heuristic does not offer them for k.
  std::vector<MatmulCandidate> ranked(int limit, const char* where) const {
    const bool aligned = operand_a(shape_).alignment(shape_.dtype) == 16 &&
                         operand_b(shape_).alignment(shape_.type_b()) == 16;
    std::vector<MatmulCandidate> fast;
    if (aligned && size_of(shape_.dtype) == 2 && shape_.k % kPackElements != 0) {
      const CublasltObjects larger(shape_, where, /*rounded=*/true);
      for (const MatmulCandidate& one : offered(larger.call, limit, where)) {
        if (const auto fits = check(one.algorithm.bytes)) fast.push_back(*fits);
      }
    }
    return fast.empty() ? offered(own_.call, limit, where) : fast;
  }

  /// The heuristic's algorithms for `call`, which has this shape, or this shape with k rounded up.
  std::vector<MatmulCandidate> offered(const GemmCall& call, int limit, const char* where) const {
    const CublasltPreference preference(shape_, where);
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(limit));
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(cublas_, call.op.cublaslt, call.b, call.a, call.c, call.c,
                                       preference.get(), limit, results.data(), &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    // A library may not know a mode, or the mode with these types. Then a kernel scales the rows.
    if (shape_.row_scales && status == CUBLAS_STATUS_INVALID_VALUE) return {};
    about(shape_, [&] {
      ::hirgen::check(status, "cublasLtMatmulAlgoGetHeuristic", where, __FILE__, __LINE__);
    });
    std::vector<MatmulCandidate> candidates;
    for (int i = 0; i < found; ++i) {
      const cublasLtMatmulHeuristicResult_t& one = results[static_cast<size_t>(i)];
      if (one.state != CUBLAS_STATUS_SUCCESS) continue;
      const std::string bytes(reinterpret_cast<const char*>(&one.algo), sizeof(one.algo));
      candidates.push_back({{kCublaslt.name, bytes}, one.workspaceSize});
    }
    return candidates;
  }

  cublasLtHandle_t cublas_;
  MatmulShape shape_;
  CublasltObjects own_;
};

/// The major compute capability of the current GPU.
int compute_capability() {
  int device = 0, major = 0;
  HG_CHECK(cudaGetDevice(&device), "start");
  HG_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "start");
  return major;
}

/// The reason why cuBLASLt cannot compute a shape; "" if it can. cuBLASLt counts batches, rows and
/// columns in an int, and supports scales only on some GPUs. hirgen rejects specs with
/// larger counts.
std::string cublaslt_refuses(const MatmulShape& s) {
  const bool counts = std::max({s.m, s.n, s.k, s.batch}) <= std::numeric_limits<int32_t>::max();
  if (!counts) return "it has no GEMM of so many rows";
  if (!s.scales && !s.row_scales) return "";
#if !defined(HIRGEN_CPU_DEVICE) && CUBLAS_VERSION < 120900
  return refuses_scales(CUBLAS_VERSION, compute_capability());
#else
  return refuses_scales(static_cast<int64_t>(cublasLtGetVersion()), compute_capability());
#endif
}

/// The configuration of an algorithm (cublasLtMatmulAlgoConfigAttributes_t), without the attributes
/// that cuBLASLt does not know.
AlgorithmAttributes cublaslt_attributes(const std::string& bytes) {
  cublasLtMatmulAlgo_t algorithm;
  if (bytes.size() != sizeof(algorithm)) return {};
  std::memcpy(&algorithm, bytes.data(), sizeof(algorithm));
  AlgorithmAttributes all;
  const auto add = [&]<typename T>(const char* name, cublasLtMatmulAlgoConfigAttributes_t which,
                                   T value) {
    size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof(value), &written);
    if (status == CUBLAS_STATUS_SUCCESS) all.emplace_back(name, static_cast<int64_t>(value));
  };
  add("id", CUBLASLT_ALGO_CONFIG_ID, int32_t{});
  add("tile", CUBLASLT_ALGO_CONFIG_TILE_ID, uint32_t{});
  add("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, uint32_t{});
  add("split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{});
  add("reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t{});
  add("swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, uint32_t{});
  add("custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, uint32_t{});
  add("inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, uint16_t{});
  add("cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, uint16_t{});
  return all;
}

}  // namespace

const GemmLibrary kCublaslt = {
    .name = "cuBLASLt",
    .version = [] { return static_cast<int64_t>(cublasLtGetVersion()); },
    .refuses = cublaslt_refuses,
    .make = [](cublasLtHandle_t cublas, const MatmulShape& shape,
               const char* where) -> std::unique_ptr<GemmMethod> {
      return about(shape, [&] { return std::make_unique<CublasltMethod>(cublas, shape, where); });
    },
    .attributes = cublaslt_attributes,
};

std::string refuses_scales(int64_t version, int major) {
  if (version < 120900) {
    return format("scales of blocks or rows need CUDA 12.9, and this cuBLASLt is %ld.%ld",
                  static_cast<long>(version / 10000), static_cast<long>(version / 100 % 100));
  }
  if (major != 9) {
    return format(
        "it has scales of blocks or rows on Hopper GPUs, and this one is of capability %d", major);
  }
  return "";
}

void set_cublaslt_bias(cublasLtMatmulDesc_t op, const void* bias, const char* where) {
  set_attribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, where);
}

}  // namespace hirgen
