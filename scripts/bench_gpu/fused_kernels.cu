// Times fused kernels (runtime_cpp/include/hirgen/fused.hpp) and reductions, relative to a
// device-to-device copy that reads and writes the same number of bytes. It builds without the rest
// of the runtime:
//
//   nvcc -std=c++20 -O3 -arch=sm_90a -I runtime_cpp/include -I NCCL/include -o fused_kernels FILE
//       runtime_cpp/src/kernels/reduce.cu
//   ./fused_kernels [WORD]    // kernels with WORD in their names
//
// Buffers rotate over about 2 GB, so that no call finds its operands in the cache. A row is the
// median of seven rounds, each with the copy and then the kernel.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "hirgen/columns.hpp"
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
}  // namespace hirgen

namespace {

namespace fn = hirgen::fn;
using bf16 = __nv_bfloat16;

struct SiluMul {
  bf16* A;
  const bf16 *Zg, *Zu;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto G = fn::silu(row.load(Zg));
    row.store(A, G * row.load(Zu));
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

struct Gelu {
  bf16* A;
  const bf16* Z;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    row.store(A, fn::gelu(row.load(Z)));
  }
};

/// Rotary embeddings of heads of 128 channels. Several heads of a token share the computed sines
/// and cosines.
struct Rope {
  hirgen::Scattered<bf16, 2> low, high;
  hirgen::Scattered<const bf16, 2> first, second;
  hirgen::Counted<2> pairs, at;
  template <typename Run>
  HG_HOST_DEVICE void operator()(Run& row) const {
    const auto frequencies = fn::exp(row.along(pairs) * -0.20503692F);
    const auto angles = row.keep(row.value(at) * frequencies);
    const auto cos = row.keep(fn::cos(angles));
    const auto sin = row.keep(fn::sin(angles));
    row.each([&](const auto& head) {
      const auto first_row = head.load(first);
      const auto second_row = head.load(second);
      head.store(low, first_row * cos - second_row * sin);
      head.store(high, second_row * cos + first_row * sin);
    });
  }
};

/// A residual add, and the norm of its result: two results.
struct AddRmsNorm {
  bf16 *Y, *X1;
  const bf16 *X, *R, *gamma;
  float scale;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X) + row.load(R);
    row.store(X1, x);
    const auto square = x * x;
    const auto rstd = fn::rsqrt(fn::sum(row, square) * scale + 1e-5F);
    row.store(Y, x * rstd * row.along(gamma));
  }
};

struct RmsNorm {
  bf16* Y;
  const bf16 *X, *gamma;
  float scale;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X);
    const auto square = x * x;
    const auto rstd = fn::rsqrt(fn::sum(row, square) * scale + 1e-5F);
    row.store(Y, x * rstd * row.along(gamma));
  }
};

struct LayerNorm {
  bf16* Y;
  const bf16 *X, *gamma, *beta;
  float scale;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(X);
    const auto centered = x - fn::sum(row, x) * scale;
    const auto square = centered * centered;
    const auto rstd = fn::rsqrt(fn::sum(row, square) * scale + 1e-5F);
    row.store(Y, centered * rstd * row.along(gamma) + row.along(beta));
  }
};

/// The terms of the gradient of a norm's weight, which launch_columns sums along columns.
struct NormWeightGrad {
  const bf16 *dY, *X;
  const float* rstd;
  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    return row.load(dY) * (row.load(X) * row.value(rstd));
  }
};

struct Softmax {
  bf16* P;
  const bf16* S;
  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto scaled = row.load(S) * 0.125F;
    const auto exp = row.keep(fn::exp(scaled - fn::max(row, scaled)));
    row.store(P, exp / fn::sum(row, exp));
  }
};

cudaStream_t stream;

/// A kernel that runs on a slice of each buffer. `launch` takes the results, then the inputs, of
/// `elements` elements each.
struct Case {
  std::string name;
  int operands;  // number of large operands, including the results
  std::function<void(bf16* const*, int64_t elements)> launch;
};

template <int64_t Columns>
void add_rows(std::vector<Case>& cases) {
  constexpr float kScale = 1.0F / Columns;
  const std::string of = " of " + std::to_string(Columns);
  static bf16* weights = nullptr;
  HG_CHECK(cudaMalloc(&weights, Columns * sizeof(bf16)), "");
  HG_CHECK(cudaMemset(weights, 0, Columns * sizeof(bf16)), "");
  cases.push_back({"rms_norm" + of, 2, [](bf16* const* p, int64_t n) {
                     hirgen::launch_rows<Columns>(
                         RmsNorm{p[0], p[1], weights, kScale}, {n / Columns},
                         hirgen::accesses(p[0], p[1], weights), stream, "");
                   }});
  cases.push_back({"add_rms_norm" + of, 4, [](bf16* const* p, int64_t n) {
                     hirgen::launch_rows<Columns>(
                         AddRmsNorm{p[0], p[1], p[2], p[3], weights, kScale}, {n / Columns},
                         hirgen::accesses(p[0], p[1], p[2], p[3], weights), stream, "");
                   }});
  cases.push_back({"layer_norm" + of, 2, [](bf16* const* p, int64_t n) {
                     hirgen::launch_rows<Columns>(
                         LayerNorm{p[0], p[1], weights, weights, kScale}, {n / Columns},
                         hirgen::accesses(p[0], p[1], weights, weights), stream, "");
                   }});
  cases.push_back({"softmax" + of, 2, [](bf16* const* p, int64_t n) {
                     hirgen::launch_rows<Columns>(Softmax{p[0], p[1]}, {n / Columns},
                                                  hirgen::accesses(p[0], p[1]), stream, "");
                   }});
}

/// Reductions along columns, including sizes that divide badly among a GPU's SMs.
void add_weight_grads(std::vector<Case>& cases) {
  constexpr int64_t kMostRows = (int64_t{128} << 20) / 1024, kMostColumns = 16384;
  static float *of_rows = nullptr, *sums = nullptr;
  HG_CHECK(cudaMalloc(&of_rows, kMostRows * sizeof(float)), "");
  HG_CHECK(cudaMemset(of_rows, 0, kMostRows * sizeof(float)), "");
  HG_CHECK(cudaMalloc(&sums, kMostColumns * sizeof(float)), "");
  for (const int64_t columns : {1024, 2048, 3584, 4096, 5120, 7168, 8192, 16384}) {
    cases.push_back(
        {"norm_weight_grad of " + std::to_string(columns), 2, [columns](bf16* const* p, int64_t n) {
           hirgen::launch_columns<hirgen::ReduceFn::kSum>(sums, NormWeightGrad{p[0], p[1], of_rows},
                                                          columns, {n / columns},
                                                          hirgen::accesses(p[0], p[1]), stream, "");
         }});
  }
}

/// Sums over rows, over columns, and of the partial sums of several ranks.
void add_reductions(std::vector<Case>& cases) {
  constexpr int64_t kColumns = 4096;
  static float* sums = nullptr;
  HG_CHECK(cudaMalloc(&sums, (int64_t{256} << 20) / kColumns * sizeof(float)), "");
  const auto sum = [](int axis, auto* out, const hirgen::Strided& results, const bf16* in,
                      const hirgen::Strided& of) {
    hirgen::launch_reduce(hirgen::ReduceFn::kSum, axis, out, results, in, of, stream, "");
  };
  cases.push_back({"sum over rows", 1, [=](bf16* const* p, int64_t n) {
                     sum(0, sums, {2, {1, kColumns}, {kColumns, 1}}, p[0],
                         {2, {n / kColumns, kColumns}, {kColumns, 1}});
                   }});
  cases.push_back({"sum over columns", 1, [=](bf16* const* p, int64_t n) {
                     sum(1, sums, {2, {n / kColumns, 1}, {1, 1}}, p[0],
                         {2, {n / kColumns, kColumns}, {kColumns, 1}});
                   }});
  for (const int parts : {2, 8}) {
    cases.push_back(
        {"sum of " + std::to_string(parts) + " parts", parts + 1, [=](bf16* const* p, int64_t n) {
           sum(0, p[0], {2, {1, n}, {n, 1}}, p[1], {2, {parts, n}, {p[2] - p[1], 1}});
         }});
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      {"silu_mul", 3,
       [](bf16* const* p, int64_t n) {
         hirgen::launch_elements(SiluMul{p[0], p[1], p[2]}, n, hirgen::accesses(p[0], p[1], p[2]),
                                 stream, "");
       }},
      {"add", 3,
       [](bf16* const* p, int64_t n) {
         hirgen::launch_elements(Add{p[0], p[1], p[2]}, n, hirgen::accesses(p[0], p[1], p[2]),
                                 stream, "");
       }},
      {"gelu", 2,
       [](bf16* const* p, int64_t n) {
         hirgen::launch_elements(Gelu{p[0], p[1]}, n, hirgen::accesses(p[0], p[1]), stream, "");
       }},
      {"rope of 32 heads", 2, [](bf16* const* p, int64_t n) {
         constexpr int64_t kHeads = 32, kChannels = 128, kToken = kHeads * kChannels;
         const Rope body{{p[0], {kToken, kChannels, 1}},
                         {p[0] + 64, {kToken, kChannels, 1}},
                         {p[1], {kToken, kChannels, 1}},
                         {p[1] + 64, {kToken, kChannels, 1}},
                         {{0, 0, 1}},
                         {{1, 0, 0}}};
         hirgen::launch_rows<64, 2, 1>(
             body, {n / kToken, kHeads},
             hirgen::accesses(body.low, body.high, body.first, body.second), stream, "");
       }}};
  add_reductions(cases);
  add_weight_grads(cases);
  add_rows<1024>(cases);
  add_rows<2048>(cases);
  add_rows<4096>(cases);
  add_rows<8192>(cases);
  add_rows<16384>(cases);
  return cases;
}

/// Milliseconds of a call, the mean of `calls` calls, each on the next slice.
float time_calls(int calls, const std::function<void(int)>& call) {
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (begin == nullptr) {
    HG_CHECK(cudaEventCreate(&begin), "");
    HG_CHECK(cudaEventCreate(&end), "");
  }
  for (int i = 0; i < 4; ++i) call(i);
  HG_CHECK(cudaEventRecord(begin, stream), "");
  for (int i = 0; i < calls; ++i) call(i);
  HG_CHECK(cudaEventRecord(end, stream), "");
  HG_CHECK(cudaEventSynchronize(end), "");
  float ms = 0;
  HG_CHECK(cudaEventElapsedTime(&ms, begin, end), "");
  return ms / static_cast<float>(calls);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Case& kernel, int64_t bytes, char* memory, int64_t size) {
  constexpr int64_t kStep = 16384 * 16;  // a multiple of every power of two among the row lengths
  const int64_t elements = bytes / (2 * kernel.operands) / kStep * kStep;
  const int64_t slice = elements * 2;
  const auto slices = static_cast<int>(size / (slice * kernel.operands));
  const int64_t half = slice * kernel.operands / 2;
  const int calls = static_cast<int>(std::max<int64_t>(20, (int64_t{8} << 30) / bytes));
  std::vector<double> copies, kernels;
  for (int turn = 0; turn < 7; ++turn) {
    copies.push_back(time_calls(calls, [&](int i) {
      char* at = memory + i % slices * 2 * half;
      HG_CHECK(cudaMemcpyAsync(at, at + half, half, cudaMemcpyDeviceToDevice, stream), "");
    }));
    kernels.push_back(time_calls(calls, [&](int i) {
      std::vector<bf16*> operands;
      for (int k = 0; k < kernel.operands; ++k) {
        operands.push_back(
            reinterpret_cast<bf16*>(memory + (i % slices * kernel.operands + k) * slice));
      }
      kernel.launch(operands.data(), elements);
    }));
  }
  const double copy = median(copies), own = median(kernels);
  std::printf("%-20s %7.0f %10.4f %10.4f %10.0f %8.3f\n", kernel.name.c_str(),
              2.0 * half / (1 << 20), copy, own, 2e-6 * half / own, copy / own);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int64_t kMb = 1 << 20;
  HG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "");
  constexpr int64_t kSize = 2048 * kMb;
  char* memory = nullptr;
  HG_CHECK(cudaMalloc(&memory, kSize), "");
  HG_CHECK(cudaMemset(memory, 0x3F, kSize), "");
  std::printf("%-20s %7s %10s %10s %10s %8s\n", "bf16", "MB", "copy ms", "kernel ms", "GB/s",
              "of copy");
  for (const int64_t bytes : {64 * kMb, 512 * kMb}) {
    for (const Case& kernel : all_cases()) {
      if (argc < 2 || kernel.name.find(argv[1]) != std::string::npos) {
        measure(kernel, bytes, memory, kSize);
      }
    }
  }
  return 0;
}
