// The measurements of epilogues, and the form of GELU that they compute.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "timing.hpp"

namespace {

/// Measures the epilogues of GEMMs with result [m, n] over k.
void epilogues(int64_t m, int64_t n, int64_t k) {
  Buffers buffer;
  const float deviation = 1.0F / std::sqrt(static_cast<float>(k));
  bf16 *x = buffer(m * k), *w = buffer(n * k, deviation), *z = buffer(m * n), *a = buffer(m * n),
       *t = buffer(m * n), *u = buffer(m * n), *bias = buffer(n), *dbias = buffer(n),
       *dw = buffer(n * k), *mask = buffer(m * ((n + 127) / 128 * 8));
  const auto linear = [&](cublasLtEpilogue_t epilogue, void* aux = nullptr) {
    return Gemm({m, n, k, Form::kLinear, epilogue}, {x, w, z, bias, aux});
  };
  const auto backward = [&](cublasLtEpilogue_t epilogue, void* aux = nullptr) {
    return Gemm({m, n, k, Form::kMatmul, epilogue}, {x, w, t, dbias, aux});
  };
  Gemm plain = linear(CUBLASLT_EPILOGUE_DEFAULT), with_bias = linear(CUBLASLT_EPILOGUE_BIAS),
       gelu = linear(CUBLASLT_EPILOGUE_GELU), gelu_aux = linear(CUBLASLT_EPILOGUE_GELU_AUX, a),
       gelu_bias = linear(CUBLASLT_EPILOGUE_GELU_BIAS),
       gelu_aux_bias = linear(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, a),
       relu = linear(CUBLASLT_EPILOGUE_RELU), relu_bias = linear(CUBLASLT_EPILOGUE_RELU_BIAS),
       relu_aux = linear(CUBLASLT_EPILOGUE_RELU_AUX, mask),
       adds({m, n, k}, {x, w, z, nullptr, nullptr, a}), back = backward(CUBLASLT_EPILOGUE_DEFAULT),
       dgelu = backward(CUBLASLT_EPILOGUE_DGELU, z),
       dgelu_bgrad = backward(CUBLASLT_EPILOGUE_DGELU_BGRAD, z),
       drelu = backward(CUBLASLT_EPILOGUE_DRELU, mask);
  // The gradient of the weight: [n, k] over m rows of u and x.
  const auto of_weight = [&](cublasLtEpilogue_t epilogue) {
    return Gemm({n, k, m, Form::kWeightGradient, epilogue}, {u, x, dw, dbias});
  };
  Gemm weight = of_weight(CUBLASLT_EPILOGUE_DEFAULT), bgradb = of_weight(CUBLASLT_EPILOGUE_BGRADB);
  for (Gemm* gemm :
       {&plain, &with_bias, &gelu, &gelu_aux, &gelu_bias, &gelu_aux_bias, &relu, &relu_bias,
        &relu_aux, &adds, &back, &dgelu, &dgelu_bgrad, &drelu, &weight, &bgradb}) {
    if (gemm->supported()) tune(*gemm);
  }
  const int64_t all = m * n;
  cudaStream_t s = streams[0];
  const auto run_gelu = [=] { elementwise<Gelu>(all, s, a, z); };
  const auto run_relu = [=] { elementwise<Relu>(all, s, a, z); };
  const auto sum_rows = [=] {
    hirgen::launch_reduce(hirgen::ReduceFn::kSum, 0, dbias, {2, {1, n}, {n, 1}}, u,
                          {2, {m, n}, {n, 1}}, s, "");
  };
  std::vector<std::vector<Way>> groups;
  const auto group = [&](std::initializer_list<Way> ways) {
    groups.emplace_back();
    for (const Way& way : ways) {
      const auto supported = [](const Gemm* gemm) { return gemm->supported(); };
      if (std::all_of(way.gemms.begin(), way.gemms.end(), supported)) {
        groups.back().push_back(way);
      } else {
        std::fprintf(stderr, "cuBLASLt has no %s of [%ld, %ld] over %ld\n", way.name.c_str(), m, n,
                     k);
      }
    }
  };
  group({{"GEMM", {&plain}, [&] { plain(); }},
         {"BIAS", {&with_bias}, [&] { with_bias(); }},
         {"gelu alone", {}, run_gelu},
         {"sum over rows alone", {}, sum_rows}});
  group({{"GEMM, add", {&plain}, [&] { plain(), elementwise<Add>(all, s, a, z, t); }},
         {"beta = 1", {&adds}, [&] { adds(); }}});
  group({{"GEMM, gelu", {&plain}, [&] { plain(), run_gelu(); }},
         {"GELU", {&gelu}, [&] { gelu(); }},
         {"GELU_AUX", {&gelu_aux}, [&] { gelu_aux(); }}});
  group(
      {{"BIAS, gelu", {&with_bias}, [&] { with_bias(), run_gelu(); }},
       {"GEMM, bias_gelu", {&plain}, [&] { plain(), with_bias_of<BiasGelu>(m, n, s, a, z, bias); }},
       {"GELU_BIAS", {&gelu_bias}, [&] { gelu_bias(); }},
       {"GELU_AUX_BIAS", {&gelu_aux_bias}, [&] { gelu_aux_bias(); }}});
  group({{"GEMM, relu", {&plain}, [&] { plain(), run_relu(); }},
         {"RELU", {&relu}, [&] { relu(); }},
         {"RELU_AUX", {&relu_aux}, [&] { relu_aux(); }}});
  group(
      {{"BIAS, relu", {&with_bias}, [&] { with_bias(), run_relu(); }},
       {"GEMM, bias_relu", {&plain}, [&] { plain(), with_bias_of<BiasRelu>(m, n, s, a, z, bias); }},
       {"RELU_BIAS", {&relu_bias}, [&] { relu_bias(); }}});
  group({{"GEMM, gelu_grad", {&back}, [&] { back(), elementwise<GeluGrad>(all, s, a, t, z); }},
         {"DGELU", {&dgelu}, [&] { dgelu(); }}});
  group({{"GEMM, gelu_grad and gelu",
          {&back},
          [&] { back(), elementwise<GeluGradAndGelu>(all, s, a, u, t, z); }},
         {"DGELU, gelu", {&dgelu}, [&] { dgelu(), run_gelu(); }}});
  group({{"GEMM, gelu_grad, sum",
          {&back},
          [&] { back(), elementwise<GeluGrad>(all, s, a, t, z), sum_rows(); }},
         {"DGELU_BGRAD", {&dgelu_bgrad}, [&] { dgelu_bgrad(); }}});
  group({{"GEMM, relu_grad", {&back}, [&] { back(), elementwise<ReluGrad>(all, s, a, t, z); }},
         {"DRELU", {&drelu}, [&] { drelu(); }}});
  group({{"weight gradient, sum", {&weight}, [&] { weight(), sum_rows(); }},
         {"BGRADB", {&bgradb}, [&] { bgradb(); }},
         {"weight gradient alone", {&weight}, [&] { weight(); }}});
  heading("C[" + std::to_string(m) + ", " + std::to_string(n) + "] over " + std::to_string(k));
  measure(groups);
}

/// Shows which form of GELU the epilogue computes. Prints the mean difference of its results from
/// the exact form and from the tanh form.
void which_gelu() {
  constexpr int64_t kSide = 1024;
  Buffers buffer;
  bf16 *x = buffer(kSide * kSide), *w = buffer(kSide * kSide, 1.0F / 32),
       *z = buffer(kSide * kSide), *a = buffer(kSide * kSide);
  Gemm gelu({kSide, kSide, kSide, Form::kLinear, CUBLASLT_EPILOGUE_GELU_AUX},
            {x, w, a, nullptr, z});
  gelu();
  std::vector<bf16> inputs(kSide * kSide), results(kSide * kSide);
  HG_CHECK(cudaStreamSynchronize(streams[0]), "");
  HG_CHECK(cudaMemcpy(inputs.data(), z, inputs.size() * 2, cudaMemcpyDeviceToHost), "");
  HG_CHECK(cudaMemcpy(results.data(), a, results.size() * 2, cudaMemcpyDeviceToHost), "");
  double to_erf = 0, to_tanh = 0;
  int count = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double v = __bfloat162float(inputs[i]), got = __bfloat162float(results[i]);
    if (v > -2 || v < -3) continue;  // GELU and its tanh form differ most here
    const double u = std::sqrt(2 / 3.141592653589793) * (v + 0.044715 * v * v * v);
    to_erf += got - v / 2 * std::erfc(-v / std::sqrt(2.0));
    to_tanh += got - v / 2 * (1 + std::tanh(u));
    ++count;
  }
  std::printf("GELU between -3 and -2: in the mean %.1e above the exact form, %.1e above tanh's\n",
              to_erf / count, to_tanh / count);
}

}  // namespace
