// Tests of attention and its gradient against loops on the host in double precision.
#include "attention.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "attention/book.hpp"
#include "hirgen/context.hpp"
#include "test.hpp"

namespace {

using namespace math_test;

constexpr const char* kWhere = "spec.yaml:9:5 O = attention(Q, K, V)";

hirgen::Context& context() {
  static hirgen::Context made{[] {
    hirgen::ContextOptions options;
    options.device = 0;
    return options;
  }()};
  return made;
}

void expect_near(const Numbers& got, const Numbers& want, double tolerance,
                 const std::string& what) {
  double squares = 0;
  for (const double w : want) squares += std::isfinite(w) ? w * w : 0;
  const double size = std::sqrt(squares / static_cast<double>(want.size()));
  for (size_t i = 0; i < got.size(); ++i) {
    const double apart = std::fabs(got[i] - want[i]);
    if (got[i] == want[i] || apart <= tolerance * (std::fabs(want[i]) + size)) continue;
    return expect(false, what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                             ", not " + std::to_string(want[i]));
  }
}

/// The device's results for a problem: O, the log-sum-exps, the gradients.
struct Results {
  Numbers o, lse, grad_q, grad_k, grad_v;

  bool operator==(const Results&) const = default;
};

Numbers read(const Elements& buffer, int64_t first, Heads like, int64_t batches) {
  std::vector<float> values = buffer.read();
  like.visit(batches, values, first, [](double& host, float& device) { host = device; });
  return like.values;
}

Results run_on_device(Problem p) {
  const AttentionShape& s = p.shape;
  const auto write = [](double& host, float& device) { device = static_cast<float>(host); };
  std::vector<float> qkv(static_cast<size_t>(p.elements())), back(p.grad_o.values.size());
  p.q.visit(s.batch, qkv, 0, write);
  p.k.visit(s.batch, qkv, p.start_k(), write);
  p.v.visit(s.batch, qkv, p.start_v(), write);
  p.grad_o.visit(s.batch, back, 0, write);

  const Elements operands(s.dtype, qkv, p.first), grad_o(s.dtype, back, p.first);
  const Elements gradients(s.dtype, p.elements(), p.first);
  const Elements o(s.dtype, static_cast<int64_t>(p.o.values.size()), p.first);
  const Elements lse(DType::kFp32, s.batch * s.query_heads * s.query_rows, p.first);
  const auto at = [&](const Elements& buffer, int64_t first) {
    return static_cast<void*>(static_cast<char*>(buffer.get()) +
                              static_cast<size_t>(first) * hirgen::size_of(s.dtype));
  };
  void *q = at(operands, 0), *k = at(operands, p.start_k()), *v = at(operands, p.start_v());
  auto* logs = static_cast<float*>(lse.get());

  const hirgen::AttentionPlan plan(context(), s, p.layout(), kWhere);
  const Buffer workspace(plan.workspace_bytes + 1);
  plan.run({q, k, v, o.get(), logs}, workspace.get(), stream(), kWhere);
  const std::vector<float> with_logarithms = o.read();
  plan.run({q, k, v, o.get(), nullptr}, workspace.get(), stream(), kWhere);
  expect(o.read() == with_logarithms, "other results where nobody wants the logarithms");
  const hirgen::AttentionGradPlan grad(context(), s, p.layout(), p.layout(), kWhere);
  const Buffer grad_workspace(grad.workspace_bytes + 1);
  grad.run({grad_o.get(), q, k, v, o.get(), logs, at(gradients, 0), at(gradients, p.start_k()),
            at(gradients, p.start_v())},
           grad_workspace.get(), stream(), kWhere);

  const std::vector<float> sums = lse.read();
  return {read(o, 0, p.o, s.batch), Numbers(sums.begin(), sums.end()),
          read(gradients, 0, p.q, s.batch), read(gradients, p.start_k(), p.k, s.batch),
          read(gradients, p.start_v(), p.v, s.batch)};
}

void test_shape(const AttentionShape& shape, bool packed, int64_t first = 0) {
  Problem p(shape, packed, first);
  const Results got = run_on_device(p);
  const bool tiled = context().attentions().report().back().method == "tiled";
  expect(!tiled || got == run_on_device(p), describe(shape) + ": other bits on a second run");
  solve(p);
  const std::string of =
      " of " + describe(shape) + (packed ? ", packed" : "") + (first > 0 ? ", unaligned" : "");
  const double rounding = shape.dtype == DType::kFp32   ? 0x1p-18
                          : shape.dtype == DType::kFp16 ? 0x1p-9
                                                        : 0x1p-6;
  expect_near(got.o, p.o.values, rounding, "O" + of);
  expect_near(got.lse, p.lse, 0x1p-18, "the logarithms" + of);
  expect_near(got.grad_q, p.grad_q.values, 2 * rounding, "the gradient of Q" + of);
  expect_near(got.grad_k, p.grad_k.values, 2 * rounding, "the gradient of K" + of);
  expect_near(got.grad_v, p.grad_v.values, 2 * rounding, "the gradient of V" + of);
}

AttentionShape shape_of(int64_t batch, int64_t query_heads, int64_t key_heads, int64_t query_rows,
                        int64_t key_rows, int64_t head_size) {
  AttentionShape s{batch, query_heads, key_heads, query_rows, key_rows, head_size};
  s.scale = 1 / std::sqrt(static_cast<float>(head_size));
  return s;
}

void test_types() {
  for (const DType type : kTypes) {
    AttentionShape s = shape_of(2, 4, 2, 24, 24, 16);
    s.dtype = type;
    for (const bool causal : {false, true}) {
      s.causal = causal;
      test_shape(s, false);
      test_shape(s, true);
    }
  }
}

/// Rows are a multiple of 16 bytes apart, but the first one is not aligned to 16 bytes.
void test_unaligned_operands() {
  for (const DType type : kTypes) {
    AttentionShape s = shape_of(1, 4, 2, 24, 24, 16);
    s.dtype = type;
    for (const int64_t first : {1, 2}) {
      for (const bool packed : {false, true}) {
        test_shape(s, packed, first);
        const auto report = context().attentions().report().back();
        expect(report.method == "tiled" && report.reason.find("16 bytes") != std::string::npos,
               "unaligned operands are for " + report.method + ": " + report.reason);
      }
    }
  }
}

/// Head sizes and numbers of rows that fill tiles or do not. In the first loop, both query heads
/// share one head of keys. In the second, each query head has its own, with 200 keys down to 1.
void test_sizes() {
  for (const int64_t size : {1, 8, 40, 64, 96, 128, 256}) {
    AttentionShape s = shape_of(1, 2, 1, 70, 70, size);
    for (const DType type : {DType::kFp32, DType::kBf16}) {
      s.dtype = type;
      s.causal = true;
      test_shape(s, false);
    }
  }
  for (const int64_t rows : {1, 63, 64, 65, 200}) {
    AttentionShape s = shape_of(1, 3, 3, rows, 201 - rows, 32);
    s.dtype = DType::kFp16;
    test_shape(s, false);
  }
}

/// Windows within a tile and over several tiles, and none; query rows at the start, within and near
/// the end of the sequence; and query rows after the last key, of which some see no key.
void test_masks() {
  AttentionShape s = shape_of(1, 4, 2, 96, 160, 16);
  s.dtype = DType::kBf16;
  s.causal = true;
  for (const int64_t start : {0, 33, 64, 120, 200}) {
    for (const int64_t window : {0, 1, 20, 90, 1000}) {
      s.query_start = start;
      s.window = window;
      test_shape(s, false);
    }
  }
}

/// The gradients match the derivative of sum(grad_o * O) along a direction, by central differences
/// in double precision.
void test_derivative() {
  AttentionShape s = shape_of(1, 4, 2, 20, 24, 8);
  s.dtype = DType::kFp32;
  s.causal = true;
  s.query_start = 4;
  Problem p(s, false);
  const Results got = run_on_device(p);
  const auto shifted = [&](double by) {
    Problem moved = p;
    unsigned salt = 11;
    for (Heads* one : {&moved.q, &moved.k, &moved.v}) {
      const auto direction = integers(one->values.size(), ++salt);
      for (size_t i = 0; i < direction.size(); ++i) one->values[i] += by * direction[i];
    }
    return moved;
  };
  const auto objective = [&](double by) {
    Problem moved = shifted(by);
    solve(moved);
    double sum = 0;
    for (size_t i = 0; i < moved.o.values.size(); ++i) {
      sum += moved.o.values[i] * moved.grad_o.values[i];
    }
    return sum;
  };
  Problem direction = shifted(1);
  double slope = 0;
  for (const auto& [to, from, gradient] :
       {std::tuple{&direction.q, &p.q, &got.grad_q}, std::tuple{&direction.k, &p.k, &got.grad_k},
        std::tuple{&direction.v, &p.v, &got.grad_v}}) {
    for (size_t i = 0; i < gradient->size(); ++i) {
      slope += (to->values[i] - from->values[i]) * (*gradient)[i];
    }
  }
  const double step = 0x1p-14;
  const double want = (objective(step) - objective(-step)) / (2 * step);
  expect_near({slope}, {want}, 1e-5, "the derivative along a direction");
}

/// Equal problems appear once in the report. A requested method that cannot compute the problem is
/// refused, with the reason.
void test_methods() {
  AttentionShape s = shape_of(1, 2, 2, 8, 8, 8);
  s.dtype = DType::kFp32;
  const auto report = [] { return context().attentions().report(); };
  const size_t before = report().size();
  const hirgen::AttentionPlan one(context(), s, {}, kWhere), two(context(), s, {}, kWhere);
  expect(report().size() == before + 1, "two plans of one problem are not one in the report");
  expect(report().back().method == "tiled", "fp32 is computed by " + report().back().method);
  AttentionShape fixed = shape_of(1, 2, 2, 8, 8, 8);
  fixed.deterministic = true;
  const hirgen::AttentionGradPlan gradient(context(), fixed, {}, {}, kWhere);
  expect(report().back().reason == "its gradient has other bits on every run",
         "a gradient with the same bits is by " + report().back().method);
  s.scale = 3;
  setenv("HIRGEN_ATTENTION", "cudnn", 1);
  std::string message;
  try {
    const hirgen::AttentionPlan refused(context(), s, {}, kWhere);
  } catch (const hirgen::Error& error) {
    message = error.what();
  }
  unsetenv("HIRGEN_ATTENTION");
  expect(message.find("HIRGEN_ATTENTION=cudnn, but cuDNN does not compute O[1, 2, 8, 8]") !=
             std::string::npos,
         "cuDNN in fp32 is refused with \"" + message + "\"");
}

void test_refusals() {
  const auto refused = [](AttentionShape s) {
    try {
      hirgen::AttentionPlan(context(), s, {}, kWhere);
    } catch (const hirgen::Error& error) {
      return std::string(error.what()).find(kWhere) == 0;
    }
    return false;
  };
  expect(refused(shape_of(1, 3, 2, 8, 8, 8)), "heads that do not divide are taken");
  expect(refused(shape_of(1, 2, 2, 8, 8, 257)), "a head of 257 elements is taken");
  AttentionShape window = shape_of(1, 2, 2, 8, 8, 8);
  window.window = 4;
  expect(refused(window), "a window without a causal mask is taken");
}

}  // namespace

int main() {
  return run("math_attention", {test_types, test_unaligned_operands, test_sizes, test_masks,
                                test_derivative, test_methods, test_refusals});
}
