// Kernels such as the pass fuse-elementwise generates, and stubs of the runtime that they need.
#pragma once

#include <cublasLt.h>

#include <cstdio>
#include <cstdlib>

#include "hirgen/fused.hpp"

namespace hirgen {  // stubs for definitions of the runtime
constinit thread_local TraceRecorder* trace_recorder = nullptr;
void TracedCall::begin(const char*, const char*, cudaStream_t, cudaEvent_t) {}
void TracedCall::end() {}
void begin_statement(const char*) {}
void check(cudaError_t status, const char* call, const char*, const char*, int) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}
void check(cublasStatus_t status, const char* call, const char*, const char*, int) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", call, cublasLtGetStatusString(status));
  std::exit(1);
}
}  // namespace hirgen

namespace {

namespace fn = hirgen::fn;
using bf16 = __nv_bfloat16;

struct Gelu {
  bf16* A;
  const bf16* Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(A, fn::gelu(row.load(Z)));
  }
};

struct Relu {
  bf16* A;
  const bf16* Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(A, fn::relu(row.load(Z)));
  }
};

struct BiasGelu {
  bf16* A;
  const bf16 *Z, *bias;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(A, fn::gelu(row.load(Z) + row.along(bias)));
  }
};

struct BiasRelu {
  bf16* A;
  const bf16 *Z, *bias;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(A, fn::relu(row.load(Z) + row.along(bias)));
  }
};

struct Add {
  bf16* Y;
  const bf16 *X, *R;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(Y, row.load(X) + row.load(R));
  }
};

struct GeluGrad {
  bf16* dZ;
  const bf16 *dA, *Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(dZ, row.load(dA) * fn::gelu_grad(row.load(Z)));
  }
};

/// The gradient of GELU, and GELU recomputed from its input, as in a backward pass.
struct GeluGradAndGelu {
  bf16 *dZ, *A;
  const bf16 *dA, *Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto z = row.load(Z);
    row.store(A, fn::gelu(z));
    row.store(dZ, row.load(dA) * fn::gelu_grad(z));
  }
};

struct ReluGrad {
  bf16* dZ;
  const bf16 *dA, *Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(dZ, row.load(dA) * fn::relu_grad(row.load(Z)));
  }
};

template <typename Body, typename... Operand>
void elementwise(int64_t elements, cudaStream_t stream, const Operand*... operands) {
  hirgen::launch_elements(Body{const_cast<Operand*>(operands)...}, elements,
                          hirgen::accesses(operands...), stream, "");
}

/// Launches a row kernel with a bias, compiled for the length of a row. Launches nothing if
/// `columns` is not among Columns.
template <typename Body, int64_t... Columns>
void biased(int64_t rows, int64_t columns, cudaStream_t stream, bf16* out, const bf16* in,
            const bf16* bias) {
  const auto of = [&]<int64_t kColumns>() {
    if (columns != kColumns) return;
    hirgen::launch_rows<kColumns>(Body{out, in, bias}, {rows}, hirgen::accesses(out, in, bias),
                                  stream, "");
  };
  (of.template operator()<Columns>(), ...);
}
template <typename Body>
void with_bias_of(int64_t rows, int64_t columns, cudaStream_t stream, bf16* out, const bf16* in,
                  const bf16* bias) {
  biased<Body, 5160, 6144, 7168, 14336>(rows, columns, stream, out, in, bias);
}

}  // namespace
