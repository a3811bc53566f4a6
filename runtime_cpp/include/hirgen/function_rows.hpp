// Elementwise functions and reductions, as macros that call their argument for each row.
// Code generated from model/domain/functions.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// row(enumerator, name, statement that applies the function to all values x)
#define HG_UNARY_FUNCTIONS(row) \
  row(kNeg, neg, for (float& v : x) v = -v) \
  row(kRelu, relu, for (float& v : x) v = v < 0.0F ? 0.0F : v) \
  row(kGelu, gelu, for (float& v : x) v = v * normal_below(v, bell(v))) \
  row(kSilu, silu, for (float& v : x) v = quotient(v, 1.0F + expf(-v))) \
  row(kExp, exp, for (float& v : x) v = expf(v)) \
  row(kLog, log, for (float& v : x) v = logf(v)) \
  row(kSin, sin, turn<true>(x)) \
  row(kCos, cos, turn<false>(x)) \
  row(kSqrt, sqrt, for (float& v : x) v = sqrtf(v)) \
  row(kRsqrt, rsqrt, for (float& v : x) v = 1.0F / sqrtf(v)) \
  row(kTanh, tanh, for (float& v : x) v = tanhf(v)) \
  row(kReciprocal, reciprocal, for (float& v : x) v = 1.0F / v) \
  row(kSigmoid, sigmoid, for (float& v : x) v = quotient(1.0F, 1.0F + expf(-v))) \
  row(kSoftplus, softplus, for (float& v : x) v = fmaxf(v, 0.0F) + log1pf(expf(-fabsf(v)))) \
  row(kAbs, abs, for (float& v : x) v = fabsf(v)) \
  row(kGeluTanh, gelu_tanh, for (float& v : x) v = v * gelu_tanh_share(v)) \
  row(kReluGrad, relu_grad, for (float& v : x) v = v > 0.0F ? 1.0F : v != v ? v : 0.0F) \
  row(kGeluGrad, gelu_grad, for (float& v : x) v = gelu_grad(v)) \
  row(kSiluGrad, silu_grad, for (float& v : x) v = silu_grad(v)) \
  row(kGeluTanhGrad, gelu_tanh_grad, for (float& v : x) v = gelu_tanh_grad(v)) \
  row(kSign, sign, for (float& v : x) v = v > 0.0F ? 1.0F : v < 0.0F ? -1.0F : v) \
  row(kRound, round, for (float& v : x) v = rintf(v)) \
  row(kCeilPow2, ceil_pow2, for (float& v : x) v = ceil_pow2(v))

/// row(enumerator, name, statement that applies the function, with the constant by, to all values x)
#define HG_CONSTANT_FUNCTIONS(row) \
  row(kScale, scale, for (float& v : x) v = v * by) \
  row(kShift, shift, for (float& v : x) v = v + by) \
  row(kClampMin, clamp_min, for (float& v : x) v = larger(v, by)) \
  row(kClampMax, clamp_max, for (float& v : x) v = smaller(v, by))

/// row(enumerator, name, expression of the values a and b)
#define HG_BINARY_FUNCTIONS(row) \
  row(kAdd, add, a + b) \
  row(kSub, sub, a - b) \
  row(kMul, mul, a * b) \
  row(kDiv, div, a / b) \
  row(kMax, max, larger(a, b)) \
  row(kMin, min, smaller(a, b)) \
  row(kGe, ge, a >= b ? 1.0F : 0.0F) \
  row(kGt, gt, a > b ? 1.0F : 0.0F) \
  row(kEq, eq, a == b ? 1.0F : 0.0F) \
  row(kKeep, keep, b != 0.0F ? a : 0.0F) \
  row(kDrop, drop, b == 0.0F ? a : 0.0F) \
  row(kMasked, masked, b != 0.0F ? a : -INFINITY)

/// row(enumerator, name, binary function that it repeats, result for no elements)
#define HG_FOLDS(row) \
  row(kSum, sum, kAdd, 0.0F) \
  row(kMax, max, kMax, -INFINITY) \
  row(kMin, min, kMin, INFINITY) \
  row(kProd, prod, kMul, 1.0F)

/// row(enumerator, name, cuBLASLt's epilogue, the same after a bias)
#define HG_EPILOGUES(row) \
  row(kRelu, relu, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS) \
  row(kGeluTanh, gelu_tanh, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS)

// clang-format on
