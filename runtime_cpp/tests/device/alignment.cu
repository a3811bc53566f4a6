// Tests of 16-byte accesses to addresses that are not a multiple of 16: the kernel faults, and the
// process cannot use the device any more. The message of the CPU device also names the statement
// that launched the kernel.
#include <cuda_runtime.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "attention/tiled.hpp"
#include "hirgen/columns.hpp"
#include "hirgen/fused.hpp"
#include "test.hpp"

using namespace device_test;
using namespace hirgen;

namespace {

constexpr const char* kWhere = "spec.yaml:7:5 Y";
constexpr int64_t kRows = 2, kMostColumns = 4096;

/// Two matrices, and a stream for kernels on them.
struct Matrices {
  float* a = upload(std::vector<float>(kRows * kMostColumns + 4));
  float* b = upload(std::vector<float>(kRows * kMostColumns + 4));
  cudaStream_t stream = make_stream();

  void expect_fault() const {
    EXPECT_STATUS(cudaErrorMisalignedAddress, cudaStreamSynchronize(stream));
    EXPECT_STATUS(cudaErrorMisalignedAddress, cudaStreamSynchronize(stream));
#ifdef HIRGEN_CPU_DEVICE
    const std::string_view text = cudaGetErrorString(cudaErrorMisalignedAddress);
    const size_t at = text.find(kWhere);
    EXPECT(at != text.npos);
    EXPECT(text.substr(at).find(": an access of 16 bytes at 0x") ==
           std::string_view(kWhere).size());
#endif
  }
};

struct Copy {
  float* to;
  const float* from;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    store_pack(to + 4 * i, pack_at<4>(from + 4 * i));
  }
};

struct Twice {
  float* out;
  const float* in;

  template <typename Row>
  HG_HOST_DEVICE void operator()(Row& row) const {
    const auto x = row.load(in);
    row.store(out, x + x);
  }
};

struct Itself {
  const float* in;

  template <typename Row>
  HG_HOST_DEVICE auto operator()(const Row& row) const {
    return row.load(in);
  }
};

void stores() {
  const Matrices m;
  parallel_for(4, m.stream, kWhere, Copy{m.a + 2, m.b});
  m.expect_fault();
}

/// Row kernels choose the width of accesses by the addresses in `accesses`. Here these are aligned,
/// but one operand is not.
template <int64_t Columns>
void rows(int64_t in, int64_t out) {
  const Matrices m;
  const auto accesses = hirgen::accesses(m.a, m.b);
  EXPECT(accesses.aligned);
  launch_rows<Columns>(Twice{m.a + out, m.b + in}, Rows<0>{kRows}, accesses, m.stream, kWhere);
  m.expect_fault();
}

void columns() {
  const Matrices m;
  launch_columns<ReduceFn::kSum>(m.a, Itself{m.b + 1}, 32, Rows<0>{kRows}, accesses(m.a, m.b),
                                 m.stream, kWhere);
  m.expect_fault();
}

/// The tiled kernels copy 16 bytes at once if the declared strides allow it; here one operand is
/// not aligned.
void attention(int64_t operand) {
  const AttentionShape shape{.query_rows = 16, .key_rows = 16, .head_size = 16};
  const AttentionStride dense{256, 256, 16};
  const auto method = plan_by_tiles(AttentionProblem{shape, {dense, dense, dense, dense}}, kWhere);
  const Matrices m;
  const auto at = [&](int64_t i) { return m.a + 128 * i + (i == operand ? 2 : 0); };
  method.run({at(0), at(1), at(2), m.b, nullptr}, nullptr, m.stream, kWhere);
  m.expect_fault();
}

}  // namespace

int main(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       {"stores", stores},
                       {"rows_read", [] { rows<32>(1, 0); }},
                       {"rows_written", [] { rows<32>(0, 3); }},
                       {"long_rows_read", [] { rows<kMostColumns>(2, 0); }},
                       {"long_rows_written", [] { rows<kMostColumns>(0, 2); }},
                       {"columns", columns},
                       {"attention_q", [] { attention(0); }},
                       {"attention_k", [] { attention(1); }},
                       {"attention_v", [] { attention(2); }},
                   });
}
