// The GEMM libraries of a program, and the choice among them.
#include <cstdlib>

#include "base/text.hpp"
#include "gemm/cublaslt.hpp"
#include "gemm/library.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

std::vector<const GemmLibrary*>& gemm_libraries() {
  static std::vector<const GemmLibrary*> libraries = {
      &kCublaslt,
  };
  return libraries;
}

const GemmLibrary* find_gemm_library(const std::string& name) {
  for (const GemmLibrary* library : gemm_libraries()) {
    if (library->name == name) return library;
  }
  return nullptr;
}

const GemmLibrary* requested_gemm_library() {
  const char* variable = std::getenv("HIRGEN_GEMM");
  const std::string asked = variable == nullptr ? "" : variable;
  if (asked.empty()) return nullptr;
  if (const GemmLibrary* library = find_gemm_library(asked)) return library;
  std::string names;
  for (const GemmLibrary* library : gemm_libraries()) {
    names += (names.empty() ? "" : " or ") + std::string(library->name);
  }
  throw Error(Code::kUsage, format("HIRGEN_GEMM=%s: it is %s", asked.c_str(), names.c_str()));
}

std::vector<std::unique_ptr<GemmMethod>> able_methods(cublasLtHandle_t cublas,
                                                      const MatmulShape& shape,
                                                      std::string* reasons, const char* where) {
  const GemmLibrary* requested = requested_gemm_library();
  std::vector<std::unique_ptr<GemmMethod>> methods;
  for (const GemmLibrary* library : gemm_libraries()) {
    if (requested != nullptr && library != requested) continue;
    const std::string reason = library->refuses(shape);
    if (reason.empty()) {
      methods.push_back(library->make(cublas, shape, where));
    } else {
      *reasons += format("; not %s: %s", library->name, reason.c_str());
    }
  }
  return methods;
}

std::vector<std::unique_ptr<GemmMethod>> gemm_methods(cublasLtHandle_t cublas,
                                                      const MatmulShape& shape, const char* where) {
  std::string reasons;
  auto methods = able_methods(cublas, shape, &reasons, where);
  if (methods.empty()) {
    // Without HIRGEN_GEMM or scales, the error is internal: hirgen rejects specs with shapes that
    // no library computes.
    const bool chosen = requested_gemm_library() != nullptr || shape.scales;
    throw Error(
        chosen ? Code::kEnvironment : Code::kInternal,
        format("%s: no GEMM library for %s%s", where, describe(shape).c_str(), reasons.c_str()));
  }
  return methods;
}

}  // namespace hirgen
