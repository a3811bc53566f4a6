// Checks the made-up function, type and collective of made_up.py in the runtime and in the CPU
// device. Exits with 1 if a value is wrong.
#include <cstdio>
#include <string_view>

#include "blaslt/gemm.hpp"
#include "core/element.hpp"
#include "hirgen/collective_rows.hpp"
#include "hirgen/numerics.hpp"
#include "nccl/reduce.hpp"

namespace {

int wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("%s is wrong\n", what);
  wrong = 1;
}

bool is_sliced(std::string_view kind) {
#define SLICED(name, sliced, rounds) \
  if (kind == #name) return sliced;
  HG_COLLECTIVES(SLICED)
#undef SLICED
  return false;
}

}  // namespace

int main() {
  float x[2] = {1.5F, -2.0F};
  hirgen::apply(hirgen::UnaryFn{hirgen::UnaryFn::kCube}, x);
  expect(x[0] == 3.375F && x[1] == -8.0F, "the function");

  constexpr hirgen::DType kType = hirgen::DType::kDl16;
  expect(hirgen::size_of(kType) == 2 && static_cast<int>(kType) == 7,
         "the size or the number of the type");
  expect(hirgen::round_to(kType, 513.5F / 512) == 514.0F / 512 &&
             hirgen::round_to(kType, -0x1p-39F) == -0x1p-39F,
         "a rounded number");

  const __dl16 a[4] = {1.0F, 2.0F, 3.0F, 4.0F}, b[4] = {10.0F, 20.0F, 30.0F, 40.0F};
  __dl16 sum[4], product[4];
  hirgen_cpu::reduce(sum, {a, b}, 4, ncclDl16, ncclSum);
  expect(sum[0] == 11.0F && sum[3] == 44.0F && hirgen_cpu::size_of(ncclDl16) == 2,
         "a sum of ranks");
  hirgen_cpu::Gemm gemm;
  gemm.m = gemm.n = gemm.k = 2;
  const auto matrix = [](const __dl16* data) {
    return hirgen_cpu::Matrix{const_cast<__dl16*>(data), CUDA_R_16DL, 2, 1, 0};
  };
  gemm.a = matrix(a), gemm.b = matrix(b), gemm.c = gemm.d = matrix(product);
  hirgen_cpu::multiply(gemm);
  expect(product[0] == 70.0F && product[3] == 220.0F, "a product");

  expect(is_sliced("spread") && !is_sliced("allreduce"), "the row of the collective");
  return wrong;
}
