// A GEMM library for tests: a loop over k for each element, for small shapes. It implements a
// GemmLibrary and its GemmMethod; a test registers it. Include it from .cu files only, like
// parallel_for.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemm/library.hpp"
#include "gemm/matrix.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/parallel_for.hpp"

namespace naive {

using namespace hirgen;

constexpr const char* kForward = "forward";    // sums from k = 0
constexpr const char* kBackward = "backward";  // sums from the last k; needs a workspace
constexpr int64_t kMostExtent = 256;

const GemmLibrary& library();

/// Distances in elements between batches, rows and columns.
struct Steps {
  int64_t batch, row, column;

  HG_HOST_DEVICE int64_t at(int64_t g, int64_t i, int64_t j) const {
    return g * batch + i * row + j * column;
  }
};

inline Steps steps_of(const Matrix& m, bool transposed) {
  return transposed ? Steps{m.stride, 1, m.leading()} : Steps{m.stride, m.leading(), 1};
}

/// The body of a kernel that computes a GEMM: a call computes the element of the result with the
/// given index.
struct Element {
  Steps a, b, c;
  int64_t m, n, k;
  DType in, out;
  bool relu, backward;
  const void *left, *right, *bias, *added;
  void* result;

  HG_HOST_DEVICE void operator()(int64_t index) const {
    const int64_t g = index / (m * n), i = index / n % m, j = index % n;
    float sum = bias == nullptr ? 0 : load(bias, out, j);
    if (added != nullptr) sum += load(added, out, c.at(g, i, j));
    for (int64_t step = 0; step < k; ++step) {
      const int64_t l = backward ? k - 1 - step : step;
      sum += load(left, in, a.at(g, i, l)) * load(right, in, b.at(g, l, j));
    }
    const float element[] = {relu && sum < 0 ? 0 : sum};
    store(result, out, c.at(g, i, j), element);
  }
};

class Method final : public GemmMethod {
 public:
  explicit Method(const MatmulShape& shape) : GemmMethod(naive::library()), shape_(shape) {}

  std::vector<MatmulCandidate> candidates(int limit, const char* /*where*/) const override {
    std::vector<MatmulCandidate> all{*check(kForward), *check(kBackward)};
    if (limit < 2) all.resize(static_cast<size_t>(limit));
    return all;
  }

  std::optional<MatmulCandidate> check(const std::string& bytes) const override {
    if (bytes != kForward && bytes != kBackward) return {};
    return MatmulCandidate{{library().name, bytes}, bytes == kForward ? size_t{0} : size_t{256}};
  }

  void use(const MatmulCandidate& candidate) override {
    backward_ = candidate.algorithm.bytes == kBackward;
  }

  void run(const GemmOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const override {
    if (backward_ && workspace == nullptr) throw Error(Code::kInternal, "no workspace");
    const MatmulShape& s = shape_;
    parallel_for(
        s.batch * s.m * s.n, stream, where,
        Element{steps_of(operand_a(s), s.transpose_a), steps_of(operand_b(s), s.transpose_b),
                steps_of(result(s), false), s.m, s.n, s.k, s.dtype, s.result(),
                s.epilogue == Epilogue::kRelu, backward_, operands.a, operands.b,
                s.bias ? operands.bias : nullptr, s.addend ? operands.added : nullptr, operands.c});
  }

 private:
  MatmulShape shape_;
  bool backward_ = false;
};

inline std::string refuses(const MatmulShape& s) {
  if (s.dtype == DType::kFp16) return "it has no fp16";
  if (s.scales || s.row_scales) return "it has no scales";
  if (s.epilogue == Epilogue::kGeluTanh) return "it has no gelu_tanh";
  return std::max({s.m, s.n, s.k}) > kMostExtent ? "it is slow at this size" : "";
}

inline const GemmLibrary& library() {
  static const GemmLibrary row = {
      .name = "naive",
      .version = [] { return int64_t{7}; },
      .refuses = refuses,
      .make = [](cublasLtHandle_t, const MatmulShape& shape, const char*)
          -> std::unique_ptr<GemmMethod> { return std::make_unique<Method>(shape); },
      .attributes = [](const std::string& bytes) -> AlgorithmAttributes {
        return {{"backward", bytes == kBackward ? 1 : 0}};
      },
  };
  return row;
}

}  // namespace naive
