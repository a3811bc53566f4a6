// cublasLtMatmul. It also rejects arguments with which a GPU would fault or silently compute wrong
// results.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "blaslt/algorithm.hpp"
#include "blaslt/descriptor.hpp"
#include "blaslt/gemm.hpp"
#include "blaslt/gemm_task.hpp"
#include "blaslt/shapes.hpp"
#include "core/error.hpp"
#include "log/log.hpp"
#include "memory/memory.hpp"
#include "stream/stream.hpp"

using namespace hirgen_cpu;

namespace {

/// Returns the number of bytes from the start of the first to the end of the last element of a
/// layout.
size_t span(const Layout& layout) {
  auto lines =
      static_cast<int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.columns : layout.rows);
  auto along =
      static_cast<int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns);
  int64_t last = (layout.batch - 1) * layout.batch_stride + (lines - 1) * layout.leading + along;
  return static_cast<size_t>(last) * size_of(layout.type);
}

Matrix matrix_of(const void* data, const Layout& layout, bool transposed) {
  Matrix matrix{const_cast<void*>(data), layout.type, 1, layout.leading, layout.batch_stride};
  if ((layout.order == CUBLASLT_ORDER_ROW) != transposed) {
    std::swap(matrix.row_stride, matrix.column_stride);
  }
  return matrix;
}

void require_aligned(const void* pointer, size_t bytes, const char* role, const char* by) {
  if (reinterpret_cast<uintptr_t>(pointer) % bytes == 0) return;
  throw Failure{cudaErrorInvalidValue,
                format("%s is at %p, and %s %zu bytes", role, pointer, by, bytes)};
}

/// Checks the workspace, and that the call matches the preferences with which the heuristic chose
/// the algorithm.
void check_algorithm(const cublasLtMatmulAlgo_t* algo, const std::array<const void*, 4>& pointers,
                     const void* workspace, size_t workspace_bytes) {
  require_aligned(workspace, 256, "the workspace", "cuBLASLt wants it aligned to");
  if (algo == nullptr) return;
  const Algorithm algorithm = open(*algo);
  require(is_algorithm(algorithm), "the algorithm is no result of the heuristic");
  require(algorithm.workspace_bytes <= workspace_bytes,
          "the workspace is smaller than the algorithm's");
  for (size_t i = 0; i < pointers.size(); ++i) {
    if (algorithm.alignment[i] == 0) continue;
    require_aligned(pointers[i], algorithm.alignment[i], std::array{"A", "B", "C", "D"}[i],
                    "the algorithm was chosen for pointers aligned to");
  }
}

void set_epilogue(const Description& op, const Layout& d, Gemm& gemm) {
  gemm.relu = (op.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  gemm.gelu = (op.epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
  gemm.bias_type = op.bias_type == kTypeOfD ? d.type : static_cast<cudaDataType_t>(op.bias_type);
  if ((op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    require(op.bias != nullptr, "an epilogue with bias, and no bias pointer");
    // The preferences do not include the alignment of a bias. A GPU's kernel reads 16 bytes of the
    // bias per access, and faults if the bias is unaligned.
    require_aligned(op.bias, 16, "the bias", "kernels take it to be aligned to");
    gemm.bias = op.bias;
    require_device_memory(op.bias, static_cast<size_t>(gemm.m) * size_of(gemm.bias_type), "bias");
  }
}

/// Returns the scales of an operand that has `lines` rows (of A) or columns (of B) with `k`
/// elements each. First checks the alignment and the memory of the scales.
Scales scales_of(const void* data, int32_t mode, int64_t lines, int64_t k, const char* name) {
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F) return {};
  const int64_t blocks = blocks_of(k);
  require_aligned(data, 16, name, "cuBLASLt reads them at multiples of");
  Scales scales{static_cast<const float*>(data), 1, 1, lines};
  int64_t count = lines * blocks;
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F) {
    scales.depth = k;
    count = lines;
  }
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F) {
    scales = {scales.data, kScaled, (blocks + 3) / 4 * 4, 1};
    count = (blocks_of(lines) - 1) * scales.line_stride + blocks;
  }
  require_device_memory(data, static_cast<size_t>(count) * sizeof(float), name);
  return scales;
}

/// Returns, for the log, the operands of a GEMM and the part of its workspace that it writes.
std::vector<LoggedOperand> operands_of(const Gemm& gemm, void* workspace, size_t workspace_bytes) {
  const auto matrix = [&](const Matrix& m, bool write, int64_t rows, int64_t columns) {
    return LoggedOperand{m.data,
                         write,
                         size_of(m.type),
                         {gemm.batch, rows, columns},
                         {m.batch_stride, m.row_stride, m.column_stride}};
  };
  std::vector<LoggedOperand> operands = {matrix(gemm.a, false, gemm.m, gemm.k),
                                         matrix(gemm.b, false, gemm.k, gemm.n),
                                         matrix(gemm.d, true, gemm.m, gemm.n)};
  if (gemm.beta != 0) operands.push_back(matrix(gemm.c, false, gemm.m, gemm.n));
  if (gemm.bias != nullptr) {
    operands.push_back(
        logged_run(gemm.bias, false, size_of(gemm.bias_type), static_cast<size_t>(gemm.m)));
  }
  const auto scales = [&](const Scales& s, int64_t lines) {
    if (s.data == nullptr) return;
    operands.push_back({s.data,
                        false,
                        sizeof(float),
                        {1, s.lines == 1 ? lines : blocks_of(lines), (gemm.k - 1) / s.depth + 1},
                        {0, s.line_stride, s.block_stride}});
  };
  scales(gemm.scales_a, gemm.m);
  scales(gemm.scales_b, gemm.n);
  const size_t used = std::min(workspace_bytes, kUsedWorkspace);
  if (used > 0) operands.push_back(logged_run(workspace, true, 1, used));
  return operands;
}

}  // namespace

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  return blas_api("cublasLtMatmul", [&] {
    if (lightHandle == nullptr || lightHandle->magic != kLiveHandle) {
      throw Failure{cudaErrorInitializationError, "not a cuBLASLt handle"};
    }
    require(alpha != nullptr && beta != nullptr, "null alpha or beta");
    const Layout &a = open(Adesc), &b = open(Bdesc), &c = open(Cdesc), &d = open(Ddesc);
    Gemm gemm = check_shapes(open(computeDesc), a, b, c, d);
    memcpy(&gemm.alpha, alpha, sizeof(float));
    memcpy(&gemm.beta, beta, sizeof(float));
    require_device_memory(A, span(a), "A");
    require_device_memory(B, span(b), "B");
    require_device_memory(D, span(d), "D");
    if (gemm.beta != 0) require_device_memory(C, span(c), "C");
    require_device_memory(workspace, workspaceSizeInBytes, "workspace");
    check_algorithm(algo, {A, B, C, D}, workspace, workspaceSizeInBytes);
    gemm.a = matrix_of(A, a, open(computeDesc).transpose_a == CUBLAS_OP_T);
    gemm.b = matrix_of(B, b, open(computeDesc).transpose_b == CUBLAS_OP_T);
    gemm.c = matrix_of(C, c, false);
    gemm.d = matrix_of(D, d, false);
    set_epilogue(open(computeDesc), d, gemm);
    const Description& op = open(computeDesc);
    gemm.scales_a = scales_of(op.scales_a, op.scale_mode_a, gemm.m, gemm.k, "the scales of A");
    gemm.scales_b = scales_of(op.scales_b, op.scale_mode_b, gemm.n, gemm.k, "the scales of B");
    if (algo != nullptr) gemm.tiling = tiling_of(open(*algo));
    const auto extra = algo != nullptr ? extra_of(open(*algo)) : std::chrono::milliseconds(0);
    log_call("gemm", stream, [&] { return operands_of(gemm, workspace, workspaceSizeInBytes); });
    submit(stream, [=](Stream& target) {
      Scheduler::get().push(target, make_gemm_task(gemm, workspace, workspaceSizeInBytes, extra));
    });
  });
}
