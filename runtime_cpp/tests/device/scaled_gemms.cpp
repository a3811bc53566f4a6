// Tests of GEMMs of 8-bit operands with scales of blocks or of rows, which cuBLASLt computes or
// refuses.
// The rules come from cuBLASLt's documentation and from the tests of Transformer Engine and vLLM.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <vector>

#include "problem.hpp"
#include "test.hpp"

using namespace device_test;

#if defined(HIRGEN_CPU_DEVICE) || CUBLAS_VERSION >= 120900
namespace {

using Result = cublasLtMatmulHeuristicResult_t;
using E4M3 = __nv_fp8_e4m3;
using E5M2 = __nv_fp8_e5m2;
constexpr cublasLtMatmulMatrixScale_t kRuns = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                                      kSquares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
                                      kLines = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
constexpr int64_t kBlock = 128;

int64_t blocks_of(int64_t elements) { return (elements + kBlock - 1) / kBlock; }

/// The scales of an operand of `lines` lines of k elements: powers of two, which differ from block
/// to block, or from line to line with kLines. Elements that pad a layout are NaN.
struct BlockScales {
  BlockScales(cublasLtMatmulMatrixScale_t mode, int64_t lines, int64_t k)
      : squares(mode == kSquares),
        depth(mode == kLines ? k : kBlock),
        row((blocks_of(k) + 3) / 4 * 4),
        column(lines) {
    if (mode == kLines) k = 1;
    const float nan = std::nanf("");
    host.assign(static_cast<size_t>(squares ? blocks_of(lines) * row : blocks_of(k) * column), nan);
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t block = 0; block < blocks_of(k); ++block) {
        const int64_t power = ((squares ? line / kBlock : line) + 2 * block) % 4;
        host[index(line, block)] = static_cast<float>(1 << power) / 4;
      }
    }
    device = upload(host);
    OK(cudaDeviceSynchronize());
  }
  size_t index(int64_t line, int64_t block) const {
    return static_cast<size_t>(squares ? line / kBlock * row + block : block * column + line);
  }
  float at(int64_t line, int64_t k) const { return host[index(line, k / depth)]; }

  bool squares;
  int64_t depth;  ///< elements along k with one scale
  int64_t row, column;
  std::vector<float> host;
  float* device = nullptr;
};

/// D = A^T B, with both operands contiguous along k, as in all GEMMs of 8-bit types on Hopper.
Shape along_k(int64_t m, int64_t n, int64_t k) {
  return {.m = m, .n = n, .k = k, .transpose_a = true};
}

template <class Out, class Left = E4M3, class Right = E4M3>
struct Scaled : Problem<Left, Out, Right> {
  Scaled(const Shape& of, cublasLtMatmulMatrixScale_t mode_a, cublasLtMatmulMatrixScale_t mode_b)
      : Problem<Left, Out, Right>(of), scales_a(mode_a, of.m, of.k), scales_b(mode_b, of.n, of.k) {
    this->set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<int32_t>(mode_a));
    this->set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<int32_t>(mode_b));
    this->set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales_a.device);
    this->set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales_b.device);
    this->scale = [this](int64_t row, int64_t column, int64_t k) {
      return scales_a.at(row, k) * scales_b.at(column, k);
    };
  }

  void computes() {
    Result result;
    OK(this->heuristic(&result));
    OK(this->run(&result.algo, this->stream, this->workspace, kWorkspace));
    this->check();
  }
  void refused() {
    Result result;
    EXPECT(this->heuristic(&result) != CUBLAS_STATUS_SUCCESS);
  }

  BlockScales scales_a, scales_b;
};

template <class Out, class Left = E4M3, class Right = E4M3>
void computes(const Shape& shape, cublasLtMatmulMatrixScale_t a = kSquares,
              cublasLtMatmulMatrixScale_t b = kRuns) {
  Scaled<Out, Left, Right>(shape, a, b).computes();
}
template <class Out, class Left = E4M3, class Right = E4M3>
void refused(const Shape& shape, cublasLtMatmulMatrixScale_t a = kSquares,
             cublasLtMatmulMatrixScale_t b = kRuns) {
  Scaled<Out, Left, Right>(shape, a, b).refused();
}

/// One operand has a scale for each run of 128 elements along k, and the other has one for each run
/// or for each square of 128 x 128 elements. Scales for squares of both operands are refused.
void modes() {
  computes<__nv_bfloat16>(along_k(256, 128, 256), kSquares, kRuns);
  computes<__nv_bfloat16>(along_k(256, 128, 256), kRuns, kSquares);
  computes<__nv_bfloat16>(along_k(256, 128, 256), kRuns, kRuns);
  refused<__nv_bfloat16>(along_k(256, 128, 256), kSquares, kSquares);
}

/// Results of 16 and 32 bits, and operands of which at least one is e4m3.
void types() {
  computes<float>(along_k(256, 128, 256));
  computes<__half>(along_k(256, 128, 256));
  computes<__nv_bfloat16, E5M2, E4M3>(along_k(256, 128, 256));
  computes<__nv_bfloat16, E4M3, E5M2>(along_k(256, 128, 256));
  refused<__nv_bfloat16, E5M2, E5M2>(along_k(256, 128, 256));
}

/// If the number of blocks along k is not a multiple of 4, the rows of scales for squares are
/// padded. The number of lines with scales for runs must be a multiple of 4.
void blocks() {
  for (const int64_t k : {128, 384, 640, 1024}) computes<__nv_bfloat16>(along_k(384, 64, k));
  for (const int64_t n : {4, 12, 36, 132, 260}) computes<__nv_bfloat16>(along_k(128, n, 640));
  refused<__nv_bfloat16>(along_k(128, 37, 256));
  refused<__nv_bfloat16>(along_k(128, 38, 256));
}

/// The last blocks may be partial, but k must be a multiple of 16.
void partial_blocks() {
  computes<__nv_bfloat16>(along_k(336, 320, 64));
  computes<__nv_bfloat16>(along_k(336, 320, 208));
  refused<__nv_bfloat16>(along_k(256, 256, 120));
}

/// An addend. If the result has 16 bits and there is an addend or a bias, elements on an H200
/// differ, by one rounding, from the sum that is rounded once. Programs have neither an addend nor
/// a bias in GEMMs with scales of blocks.
void addend() {
  Shape shape = along_k(256, 128, 256);
  shape.beta = 1;
  computes<float>(shape);
}

/// A scale mode without a pointer to scales is an invalid value, also for the heuristic, which
/// reads no scales.
void missing_scales() {
  for (const auto pointer :
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER}) {
    Scaled<__nv_bfloat16> problem(along_k(256, 128, 256), kSquares, kRuns);
    problem.set(pointer, static_cast<const void*>(nullptr));
    Result result;
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, problem.heuristic(&result));
    alignas(16) static constexpr float kUnread[4] = {};
    problem.set(pointer, static_cast<const void*>(kUnread));
    OK(problem.heuristic(&result));
  }
}

/// A scale for each row of A and each column of B, in results of 16 and 32 bits, with any number of
/// columns. Both operands must have such scales.
void lines() {
  for (const int64_t k : {64, 128, 208, 1024}) {
    computes<__nv_bfloat16>(along_k(256, 128, k), kLines, kLines);
    computes<float>(along_k(256, 128, k), kLines, kLines);
  }
  for (const int64_t n : {1, 4, 37, 130}) {
    computes<__nv_bfloat16>(along_k(336, n, 256), kLines, kLines);
  }
  computes<__nv_bfloat16>(along_k(16, 512, 256), kLines, kLines);
  refused<__nv_bfloat16>(along_k(256, 128, 256), kLines, kRuns);
  refused<__nv_bfloat16>(along_k(256, 128, 256), kSquares, kLines);
  refused<__nv_bfloat16>({.m = 256, .n = 128, .k = 256}, kLines, kLines);
  refused<__nv_bfloat16, E5M2, E5M2>(along_k(256, 128, 256), kLines, kLines);
}

/// As missing_scales(), for scales of lines.
void missing_lines() {
  for (const auto pointer :
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER}) {
    Scaled<__nv_bfloat16> problem(along_k(256, 128, 256), kLines, kLines);
    problem.set(pointer, static_cast<const void*>(nullptr));
    Result result;
    EXPECT(problem.heuristic(&result) != CUBLAS_STATUS_SUCCESS);
  }
}

/// Both operands must be contiguous along k.
void layouts() {
  refused<__nv_bfloat16>({.m = 256, .n = 128, .k = 256});
  refused<__nv_bfloat16>({.m = 256, .n = 128, .k = 256, .transpose_a = true, .transpose_b = true});
}

/// A case that is skipped unless the GPU is of the Hopper generation.
std::function<void()> on_hopper(void (*body)()) {
  return [body] {
    int major = 0;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major != 9) skip("scales need a Hopper GPU");
    body();
  };
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"modes", on_hopper(modes)},
                       {"types", on_hopper(types)},
                       {"blocks", on_hopper(blocks)},
                       {"partial_blocks", on_hopper(partial_blocks)},
                       {"addend", on_hopper(addend)},
                       {"missing_scales", on_hopper(missing_scales)},
                       {"lines", on_hopper(lines)},
                       {"missing_lines", on_hopper(missing_lines)},
                       {"layouts", on_hopper(layouts)},
                   });
}
#else
int main(int argc, char** argv) {
  return run_cases(argc, argv, {{"modes", [] { skip("scales need CUDA 12.9"); }}});
}
#endif
