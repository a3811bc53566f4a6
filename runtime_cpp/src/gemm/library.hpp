// GEMM libraries: a table of functions for each, and the methods that they make for a shape.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hirgen/gemm_call.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// The operands of one call. `bias` and `added` are read only if the shape has them.
struct GemmOperands {
  const void *a, *b, *bias, *added;
  void* c;
};

/// The configuration of an algorithm, for readers: names and numbers as the library enumerates
/// them.
using AlgorithmAttributes = std::vector<std::pair<std::string, int64_t>>;

struct GemmLibrary;

/// The way in which one library computes one shape. The matrices are operand_a(shape),
/// operand_b(shape) and result(shape) of matrix.hpp: if the shape packs, those are the copies.
class GemmMethod {
 public:
  explicit GemmMethod(const GemmLibrary& library) : library_(library) {}
  virtual ~GemmMethod() = default;
  GemmMethod(const GemmMethod&) = delete;
  GemmMethod& operator=(const GemmMethod&) = delete;

  const GemmLibrary& library() const { return library_; }

  /// At most `limit` algorithms whose workspace is at most kWorkspaceBytes, best guess first.
  virtual std::vector<MatmulCandidate> candidates(int limit, const char* where) const = 0;
  /// The algorithm of these bytes; nothing if they are no algorithm for this shape. They may come
  /// from an untrusted file.
  virtual std::optional<MatmulCandidate> check(const std::string& bytes) const = 0;
  /// Prepares all later calls: they use the algorithm of `candidate`.
  virtual void use(const MatmulCandidate& candidate) = 0;
  /// Enqueues the GEMM on `stream`, and nothing else: the call may be captured into a CUDA graph.
  /// Reports it as a TracedCall. Throws Error.
  virtual void run(const GemmOperands& operands, void* workspace, cudaStream_t stream,
                   const char* where) const = 0;
  /// The arguments of the emitted call. Only cuBLASLt has any.
  virtual GemmCall call() const { return {.op = {.other = this}}; }

 private:
  const GemmLibrary& library_;
};

/// One library. `name` is its name in HIRGEN_GEMM, files of plans and reports.
struct GemmLibrary {
  const char* name;
  /// The version, for which an algorithm's bytes are valid.
  int64_t (*version)();
  /// Why the library cannot compute a shape; "" if it can.
  std::string (*refuses)(const MatmulShape& shape);
  /// A method for a shape that it can compute. `cublas` is the context's handle.
  std::unique_ptr<GemmMethod> (*make)(cublasLtHandle_t cublas, const MatmulShape& shape,
                                      const char* where);
  /// The attributes of an algorithm; none if it has none.
  AlgorithmAttributes (*attributes)(const std::string& bytes);
};

/// The libraries of this process, preferred first: the rows of libraries.cpp. A test adds its own.
std::vector<const GemmLibrary*>& gemm_libraries();

/// The library with this name; null if there is none.
const GemmLibrary* find_gemm_library(const std::string& name);

/// The library that HIRGEN_GEMM requests; null if the variable is not set. Throws Error(kUsage) if
/// it names no library.
const GemmLibrary* requested_gemm_library();

/// A method of each library that can compute the shape, preferred first; only the requested one's
/// if one is requested. Throws Error with the reasons if there are none.
std::vector<std::unique_ptr<GemmMethod>> gemm_methods(cublasLtHandle_t cublas,
                                                      const MatmulShape& shape, const char* where);

}  // namespace hirgen
