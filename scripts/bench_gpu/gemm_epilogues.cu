// Times cuBLASLt's epilogues against GEMMs followed by kernels, and GEMMs that share an operand one
// after the other, as one GEMM, as a batch, and on several streams. All are bf16. It needs one
// kernel of the runtime:
//
//   nvcc -std=c++20 -O3 -arch=sm_90a -I runtime_cpp/include -I NCCL/include -lcublasLt
//     -o gemm_epilogues FILE runtime_cpp/src/kernels/reduce.cu
//   ./gemm_epilogues [epilogues | operands]
//
// A round runs one implementation for about 20 ms and times the second half; a number is the median
// of five rounds. "first" uses the heuristic's first algorithm, "best" the fastest of its first
// eight.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

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

// Kernels such as the pass fuse-elementwise generates.

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

/// Microseconds of a call, the mean of `calls` calls.
double time_calls(int calls, const std::function<void()>& call) {
  HG_CHECK(cudaEventRecord(begin_event, streams[0]), "");
  for (int i = 0; i < calls; ++i) call();
  HG_CHECK(cudaEventRecord(end_event, streams[0]), "");
  HG_CHECK(cudaEventSynchronize(end_event), "");
  float ms = 0;
  HG_CHECK(cudaEventElapsedTime(&ms, begin_event, end_event), "");
  return 1e3 * ms / calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Sets the best of the heuristic's algorithms, by the median of three rounds over all of them.
void tune(Gemm& gemm) {
  std::vector<std::vector<double>> times(gemm.algorithms());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < gemm.algorithms(); ++i) {
      gemm.use(i);
      time_calls(1, [&] { gemm(); });
      times[i].push_back(time_calls(5, [&] { gemm(); }));
    }
  }
  size_t best = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    if (median(times[i]) < median(times[best])) best = i;
  }
  gemm.set_best(best);
  gemm.use(0);
}

/// An implementation: its GEMMs, and the call that runs it.
struct Way {
  std::string name;
  std::vector<Gemm*> gemms;
  std::function<void()> call;
};

/// Times the implementations round by round, with first and best algorithms, and prints a line for
/// each, with its speedup over the first implementation of its group.
void measure(const std::vector<std::vector<Way>>& groups) {
  struct Timed {
    const Way* way;
    bool best;
    int calls;
    std::vector<double> us;
  };
  std::vector<Timed> all;
  for (const auto& group : groups) {
    for (const Way& way : group) {
      for (const bool best : {false, true}) all.push_back({&way, best, 1, {}});
    }
  }
  const auto run = [](const Timed& t, int calls) {
    for (Gemm* gemm : t.way->gemms) gemm->use_best(t.best);
    return time_calls(calls, t.way->call);
  };
  for (Timed& t : all) t.calls = std::max(5, static_cast<int>(10e3 / run(t, 5)));
  for (int turn = 0; turn < 5; ++turn) {
    for (Timed& t : all) {
      run(t, t.calls);  // warms up to the power of this implementation
      t.us.push_back(run(t, t.calls));
    }
  }
  auto next = all.begin();
  for (const auto& group : groups) {
    double first = 0, best = 0;
    for (const Way& way : group) {
      const double now_first = median((next++)->us), now_best = median((next++)->us);
      if (&way == &group.front()) first = now_first, best = now_best;
      std::printf("  %-44s %9.1f %6.3f %9.1f %6.3f\n", way.name.c_str(), now_first,
                  first / now_first, now_best, best / now_best);
    }
  }
  std::fflush(stdout);
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

void heading(const std::string& what) {
  std::printf("%-46s %9s %6s %9s %6s\n", what.c_str(), "first us", "x", "best us", "x");
}

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

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  for (cudaStream_t& stream : streams) {
    HG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "");
  }
  for (void*& workspace : workspaces) HG_CHECK(cudaMalloc(&workspace, kWorkspace), "");
  for (cudaEvent_t* event : {&begin_event, &end_event}) HG_CHECK(cudaEventCreate(event), "");
  for (cudaEvent_t* event : {&fork_event, &join_events[1], &join_events[2]}) {
    HG_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "");
  }
  HG_CHECK(cublasLtCreate(&cublas), "");
  if (only != "operands") {
    which_gelu();
    epilogues(8192, 7168, 4096);
    epilogues(4096, 14336, 8192);
    epilogues(1024, 14336, 4096);
    epilogues(4096, 6144, 4096);
    epilogues(2872, 5160, 3336);
  }
  if (only != "epilogues") {
    for (const int64_t m : {512, 1024, 4096, 8192}) {
      of_one_operand(m, {7168, 7168}, 4096);
      of_one_operand(m, {14336, 14336}, 8192);
      of_one_operand(m, {4096, 1024, 1024}, 4096);
      of_one_operand(m, {4096, 512, 512}, 8192);
      of_one_operand(m, {5160, 5160}, 3336);
    }
  }
  return 0;
}
