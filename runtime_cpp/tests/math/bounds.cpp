// Compares the bounds of the reference with those of package model/eval, operation by operation.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "hirgen/reference_device.hpp"
#include "test.hpp"

namespace {

using namespace math_test;
using hirgen::DeviceReference;

/// An operation with the values of its result and their bounds, from `go test ./runtime_cpp`.
struct Row {
  const char *kind, *fn, *out, *first, *second;
  DType dtype;
  std::vector<float> values, bounds;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> rows = {
#define ROW(kind, fn, out, first, second, dtype, ...) \
  Row{kind, fn, out, first, second, DType::dtype, __VA_ARGS__},
#include "bound_rows.inc"
#undef ROW
  };
  return rows;
}

std::vector<float> read(const float* data, size_t n) {
  std::vector<float> host(n);
  if (data == nullptr) return host;
  HG_CHECK(cudaMemcpyAsync(host.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost, stream()),
           "test");
  HG_CHECK(cudaStreamSynchronize(stream()), "test");
  return host;
}

void evaluate(DeviceReference& reference, const Row& row) {
  const std::string kind = row.kind;
  if (kind == "input") {
    hirgen::TensorDesc desc;
    desc.name = row.out;
    const int64_t extent = desc.name == "A" ? 2 : 4;
    desc.axes = {{extent, 1, 0}, {8 / extent, 1, 0}};
    reference.upload(desc, row.values.data());
  } else if (kind == "cast") {
    reference.cast(row.out, row.first, row.dtype);
  } else if (kind == "unary") {
    reference.unary(row.out, row.fn, row.first, row.dtype);
  } else if (kind == "binary") {
    reference.binary(row.out, row.fn, row.first, row.second, row.dtype);
  } else if (kind == "broadcast") {
    reference.broadcast(row.out, row.first, 1);
  } else if (kind == "permute") {
    reference.permute(row.out, row.first, {1, 0});
  } else if (kind == "reduce") {
    reference.reduce(row.out, row.fn, row.first, 1, row.dtype);
  } else {
    reference.matmul(row.out, row.first, row.second, row.dtype);
  }
}

/// Expects that two bounds of an element are equal, up to roundings of the element to fp32 and of
/// functions on GPUs, which differ from those of CPUs by some units in the last place.
void expect_bound(const Row& row, size_t i, float got) {
  const float want = row.bounds[i], size = std::fabs(row.values[i]);
  const float apart = 0x1p-20F * (size < INFINITY ? size : 0) + 0.03F * want + 0x1p-140F;
  if (got == want || std::fabs(got - want) <= apart) return;
  std::ostringstream text;
  text << row.kind << ' ' << row.fn << " of " << row.first << " and " << row.second << ", element "
       << i << " (" << row.values[i] << "): the bound is " << got << ", not " << want;
  expect(false, text.str());
}

/// All operations, on the operands of the table: two ranks, as in its spec.
void test_bounds_are_those_of_the_model() {
  DeviceReference reference(stream(), 2);
  for (const Row& row : rows()) {
    evaluate(reference, row);
    const std::vector<float> got = read(reference.bounds(row.out, row.dtype), row.bounds.size());
    for (size_t i = 0; i < got.size(); ++i) expect_bound(row, i, got[i]);
  }
}

/// Two sums of the same terms have other random errors in their second evaluations, which show in
/// the factors that tighten their bounds.
void test_sums_have_other_errors() {
  DeviceReference reference(stream(), 1);
  hirgen::TensorDesc desc;
  desc.name = "A";
  desc.axes = {{64, 1, 0}, {64, 1, 0}};
  reference.generate_normal(desc, 0, 1);
  reference.cast("X", "A", DType::kBf16);
  reference.slice("P", "X", 0, 0, 8);
  std::vector<float> sums, products;
  for (const char* out : {"S", "T"}) {
    reference.reduce(out, "sum", "X", 1, DType::kBf16);
    sums.push_back(read(reference.bounds(out, DType::kBf16), 64)[0]);
    reference.linear(out, "P", "P", nullptr, DType::kBf16);
    products.push_back(read(reference.bounds(out, DType::kBf16), 64)[0]);
  }
  expect(sums[0] != sums[1], "two sums have the same errors");
  expect(products[0] != products[1], "two products have the same errors");
}

}  // namespace

int main() {
  return run("math_bounds", {test_bounds_are_those_of_the_model, test_sums_have_other_errors});
}
