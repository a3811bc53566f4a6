// The interface to GEMM libraries: a GemmLibrary makes a GemmMethod for each shape.
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

/// The operands of one call. `bias`, `added` and the scales are read only if the shape has them.
/// The scales have the layouts of scales_of_a() and scales_of_b() of matrix.hpp.
struct GemmOperands {
  const void *a, *b, *bias, *added;
  void* c;
  const void *scales_a = nullptr, *scales_b = nullptr;
};

/// The configuration of an algorithm, for reports and plan files: names and numbers as the library
/// enumerates them.
using AlgorithmAttributes = std::vector<std::pair<std::string, int64_t>>;

struct GemmLibrary;

/// Computes one shape with one library. The matrices have the layouts operand_a(shape),
/// operand_b(shape) and result(shape) of matrix.hpp, which are the layouts of packed copies if the
/// shape packs.
class GemmMethod {
 public:
  explicit GemmMethod(const GemmLibrary& library) : library_(library) {}
  virtual ~GemmMethod() = default;
  GemmMethod(const GemmMethod&) = delete;
  GemmMethod& operator=(const GemmMethod&) = delete;

  const GemmLibrary& library() const { return library_; }

  /// At most `limit` algorithms whose workspace is at most kWorkspaceBytes, best guess first.
  virtual std::vector<MatmulCandidate> candidates(int limit, const char* where) const = 0;
  /// The algorithm with these bytes; nullopt unless it computes this shape with a workspace of at
  /// most kWorkspaceBytes. The bytes may come from an untrusted file.
  virtual std::optional<MatmulCandidate> check(const std::string& bytes) const = 0;
  /// Makes all later calls use the algorithm of `candidate`.
  virtual void use(const MatmulCandidate& candidate) = 0;
  /// Enqueues the GEMM on `stream`, and nothing else: the call may be captured into a CUDA graph.
  /// Reports the GEMM as a TracedCall. Throws Error.
  virtual void run(const GemmOperands& operands, void* workspace, cudaStream_t stream,
                   const char* where) const = 0;
  /// The arguments of the call in emitted programs. For libraries other than cuBLASLt: this method.
  virtual GemmCall call() const { return {.op = {.other = this}}; }

 private:
  const GemmLibrary& library_;
};

/// One library. `name` is its name in HIRGEN_GEMM, plan files and reports.
struct GemmLibrary {
  const char* name;
  /// The library's version. An algorithm's bytes are valid only for the same version.
  int64_t (*version)();
  /// Why the library cannot compute a shape; "" if it can.
  std::string (*refuses)(const MatmulShape& shape);
  /// Makes a method for a shape that the library can compute. `cublas` is the context's handle.
  std::unique_ptr<GemmMethod> (*make)(cublasLtHandle_t cublas, const MatmulShape& shape,
                                      const char* where);
  /// The attributes of the algorithm with these bytes; empty if the bytes are invalid.
  AlgorithmAttributes (*attributes)(const std::string& bytes);
};

/// The libraries of this process, preferred first: the libraries of libraries.cpp. Tests append
/// others.
std::vector<const GemmLibrary*>& gemm_libraries();

/// The library with this name; null if there is none.
const GemmLibrary* find_gemm_library(const std::string& name);

/// The library that HIRGEN_GEMM requests; null if the variable is unset or empty. Throws
/// Error(kUsage) if it names no library.
const GemmLibrary* requested_gemm_library();

/// A method of each library that can compute the shape, preferred first. If HIRGEN_GEMM requests a
/// library, only that library is considered. Appends the reasons of the others to `reasons`.
std::vector<std::unique_ptr<GemmMethod>> able_methods(cublasLtHandle_t cublas,
                                                      const MatmulShape& shape,
                                                      std::string* reasons, const char* where);

/// able_methods(), but throws Error with the reasons if there are no methods.
std::vector<std::unique_ptr<GemmMethod>> gemm_methods(cublasLtHandle_t cublas,
                                                      const MatmulShape& shape, const char* where);

}  // namespace hirgen
