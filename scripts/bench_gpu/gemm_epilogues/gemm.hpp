// One GEMM of cuBLASLt, its operands, and the streams that it runs on.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace {

/// Fills with normally distributed values, so that a GPU draws as much power as with real data.
__global__ void fill_kernel(bf16* out, int64_t elements, float deviation, uint32_t seed) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
    uint64_t x = (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ULL + seed;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
    const float u = (static_cast<float>(x >> 40) + 0.5F) * 0x1p-24F;
    const float v = static_cast<float>(x & 0xFFFFFF) * 0x1p-24F;
    out[i] = __float2bfloat16(deviation * sqrtf(-2.0F * logf(u)) * cospif(2.0F * v));
  }
}

cublasLtHandle_t cublas;
cudaStream_t streams[3];
cudaEvent_t begin_event, end_event, fork_event, join_events[3];
constexpr size_t kWorkspace = size_t{32} << 20;
void* workspaces[3];
constexpr float kOne = 1.0F, kZero = 0.0F;

/// Allocates a buffer of normally distributed values.
bf16* filled(int64_t elements, float deviation = 1.0F) {
  static uint32_t seed = 1;
  bf16* data = nullptr;
  HG_CHECK(cudaMalloc(&data, elements * sizeof(bf16)), "");
  fill_kernel<<<1024, 256, 0, streams[0]>>>(data, elements, deviation, seed++);
  HG_CHECK(cudaGetLastError(), "");
  return data;
}

/// Allocates buffers and frees them in its destructor.
class Buffers {
 public:
  bf16* operator()(int64_t elements, float deviation = 1.0F) {
    all_.push_back(filled(elements, deviation));
    return all_.back();
  }
  ~Buffers() {
    for (bf16* data : all_) static_cast<void>(cudaFree(data));
  }

 private:
  std::vector<bf16*> all_;
};

/// Layouts of x and w, in this order: [m, k] and [n, k]; [m, k] and [k, n]; [k, m] and [k, n].
enum class Form { kLinear, kMatmul, kWeightGradient };

struct Operands {
  const void *x, *w;
  void* out;
  void* bias = nullptr;  ///< an input, or a gradient as output
  void* aux = nullptr;
  const void* added = nullptr;
};

/// out[m, n] = x w, with an epilogue.
struct Shape {
  int64_t m, n, k;
  Form form = Form::kLinear;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int batch = 1;
  int64_t stride_w = 0;  ///< elements between the batches of w; x has stride 0
};

template <typename T>
void set(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  HG_CHECK(cublasLtMatmulDescSetAttribute(op, attribute, &value, sizeof(value)), "");
}

class Gemm {
 public:
  Gemm(const Shape& s, const Operands& operands) : operands_(operands) {
    HG_CHECK(cublasLtMatmulDescCreate(&op_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "");
    set(op_, CUBLASLT_MATMUL_DESC_TRANSA, s.form == Form::kLinear ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(op_, CUBLASLT_MATMUL_DESC_TRANSB,
        s.form == Form::kWeightGradient ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(op_, CUBLASLT_MATMUL_DESC_EPILOGUE, s.epilogue);
    if (has_bias(s.epilogue)) set(op_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
    if (operands.aux != nullptr) {
      set(op_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
      set(op_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld(s));
    }
    w_ =
        s.form == Form::kLinear ? layout(s, s.k, s.n, s.stride_w) : layout(s, s.n, s.k, s.stride_w);
    x_ = s.form == Form::kWeightGradient ? layout(s, s.m, s.k, 0) : layout(s, s.k, s.m, 0);
    out_ = layout(s, s.n, s.m, s.m * s.n);
    cublasLtMatmulPreference_t preference = nullptr;
    HG_CHECK(cublasLtMatmulPreferenceCreate(&preference), "");
    HG_CHECK(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kWorkspace, sizeof(kWorkspace)),
        "");
    int offered = 0;
    if (cublasLtMatmulAlgoGetHeuristic(cublas, op_, w_, x_, out_, out_, preference, kAlgorithms,
                                       algorithms_, &offered) != CUBLAS_STATUS_SUCCESS) {
      return;
    }
    for (int i = 0; i < offered; ++i) {
      chosen_ = static_cast<size_t>(found_);
      algorithms_[chosen_] = algorithms_[i];
      if (call(0) == CUBLAS_STATUS_SUCCESS) ++found_;
    }
    chosen_ = 0;
  }

  bool supported() const { return found_ > 0; }
  size_t algorithms() const { return static_cast<size_t>(found_); }
  void use(size_t algorithm) { chosen_ = algorithm; }
  void use_best(bool best) { chosen_ = best ? best_ : 0; }
  void set_best(size_t algorithm) { best_ = algorithm; }

  void operator()(int stream = 0) const { HG_CHECK(call(stream), ""); }

  cublasStatus_t call(int stream) const {
    const bool adds = operands_.added != nullptr;
    return cublasLtMatmul(cublas, op_, &kOne, operands_.w, w_, operands_.x, x_,
                          adds ? &kOne : &kZero, adds ? operands_.added : operands_.out, out_,
                          operands_.out, out_, &algorithms_[chosen_].algo, workspaces[stream],
                          kWorkspace, streams[stream]);
  }

 private:
  static constexpr int kAlgorithms = 8;
  /// Whether the epilogue takes a bias pointer; other epilogues refuse it.
  static bool has_bias(cublasLtEpilogue_t epilogue) {
    constexpr int kBias = CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA |
                          CUBLASLT_EPILOGUE_BGRADB |
                          (CUBLASLT_EPILOGUE_DGELU_BGRAD ^ CUBLASLT_EPILOGUE_DGELU);
    return (epilogue & kBias) != 0;
  }
  /// The leading dimension of aux: for a ReLU mask, n in bits, rounded up to 128; for GELU's input,
  /// n.
  static int64_t aux_ld(const Shape& s) {
    const bool mask =
        s.epilogue == CUBLASLT_EPILOGUE_RELU_AUX || s.epilogue == CUBLASLT_EPILOGUE_DRELU;
    return mask ? (s.n + 127) / 128 * 128 : s.n;
  }
  static cublasLtMatrixLayout_t layout(const Shape& s, int64_t rows, int64_t columns,
                                       int64_t stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    HG_CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, rows, columns, rows), "");
    if (s.batch == 1) return layout;
    HG_CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &s.batch,
                                              sizeof(s.batch)),
             "");
    HG_CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                              &stride, sizeof(stride)),
             "");
    return layout;
  }

  Operands operands_;
  cublasLtMatmulDesc_t op_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, out_ = nullptr;
  cublasLtMatmulHeuristicResult_t algorithms_[kAlgorithms] = {};
  int found_ = 0;
  size_t chosen_ = 0, best_ = 0;
};

}  // namespace
