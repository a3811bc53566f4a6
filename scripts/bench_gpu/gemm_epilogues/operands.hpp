// The measurements of GEMMs that share an operand.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "timing.hpp"

namespace {

/// Calls each GEMM on a separate stream, between a fork and a join.
void beside(const std::vector<Gemm*>& gemms) {
  HG_CHECK(cudaEventRecord(fork_event, streams[0]), "");
  for (size_t i = 1; i < gemms.size(); ++i) {
    HG_CHECK(cudaStreamWaitEvent(streams[i], fork_event, 0), "");
  }
  for (size_t i = 0; i < gemms.size(); ++i) (*gemms[i])(static_cast<int>(i));
  for (size_t i = 1; i < gemms.size(); ++i) {
    HG_CHECK(cudaEventRecord(join_events[i], streams[i]), "");
    HG_CHECK(cudaStreamWaitEvent(streams[0], join_events[i], 0), "");
  }
}

/// Measures GEMMs that share the operand x[m, k], each with its weight [n_i, k]. The last two
/// weights must have equal n.
void of_one_operand(int64_t m, const std::vector<int64_t>& n, int64_t k) {
  Buffers buffer;
  const float deviation = 1.0F / std::sqrt(static_cast<float>(k));
  int64_t sum = 0;
  for (const int64_t of : n) sum += of;
  bf16 *x = buffer(m * k), *together = buffer(sum * k, deviation), *out = buffer(m * sum);
  std::vector<bf16*> weights;
  for (const int64_t of : n) weights.push_back(buffer(of * k, deviation));
  std::vector<Gemm> apart;
  apart.reserve(n.size());
  int64_t at = 0;
  for (size_t i = 0; i < n.size(); ++i) {
    apart.emplace_back(Shape{m, n[i], k}, Operands{x, weights[i], out + at});
    at += m * n[i];
  }
  // A batch of the last two, whose stride is the distance between their allocations.
  const size_t last = n.size() - 2;
  bf16 *low = std::min(weights[last], weights[last + 1]),
       *high = std::max(weights[last], weights[last + 1]);
  bf16* const out_of_last = out + m * (sum - 2 * n.back());
  Gemm one({m, sum, k}, {x, together, out});
  Gemm batch({m, n.back(), k, Form::kLinear, CUBLASLT_EPILOGUE_DEFAULT, 2, high - low},
             {x, low, out_of_last});
  std::vector<Gemm*> each;
  for (Gemm& gemm : apart) each.push_back(&gemm);
  for (Gemm* gemm : each) tune(*gemm);
  for (Gemm* gemm : {&one, &batch}) {
    if (gemm->supported()) tune(*gemm);
  }
  std::vector<Gemm*> before(each.begin(), each.end() - 2);
  const auto run = [](const std::vector<Gemm*>& gemms) {
    for (const Gemm* gemm : gemms) (*gemm)();
  };
  const auto with = [&](Gemm& gemm) {
    std::vector<Gemm*> gemms = before;
    gemms.push_back(&gemm);
    return gemms;
  };
  std::vector<Way> ways = {{"one after the other", each, [&] { run(each); }},
                           {"one GEMM of weights side by side", {&one}, [&] { one(); }},
                           {"a stream each", each, [&] { beside(each); }}};
  if (batch.supported()) {
    ways.push_back({"the last two as a batch", with(batch), [&] { run(with(batch)); }});
  }
  std::string what = "C[" + std::to_string(m);
  for (const int64_t of : n) what += (&of == &n.front() ? ", " : " | ") + std::to_string(of);
  heading(what + "] over " + std::to_string(k));
  measure({ways});
}

}  // namespace
