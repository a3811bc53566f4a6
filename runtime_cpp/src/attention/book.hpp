// Chooses the method that computes each attention of a context, and keeps the choices for reports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/method.hpp"

namespace hirgen {

/// One attention (or its gradient), and the method that computes it.
struct AttentionReport {
  std::string attention;  ///< its shape as text, from describe()
  bool gradient = false;
  std::string method;
  std::string reason;  ///< why the method is not cuDNN's; empty if it is, or "tiled" was requested
  int64_t workspace_bytes = 0;
};

/// The methods of one context's attentions. Not thread-safe.
class AttentionBook {
 public:
  /// The method for a problem: cuDNN's if cuDNN supports the problem and the shape is not
  /// deterministic, otherwise the tiled kernels. HIRGEN_ATTENTION requests one of them, "cudnn" or
  /// "tiled"; throws Error if the requested one is unknown or cannot be used. Equal problems share
  /// one method, which is made once.
  template <typename Problem>
  std::shared_ptr<const AttentionMethod<Problem>> method(const Problem& problem, const char* where);

  /// An entry for each different problem, in the order of the first method() calls.
  const std::vector<AttentionReport>& report() const { return report_; }

 private:
  template <typename Problem>
  struct Entry {
    Problem problem;
    std::shared_ptr<const AttentionMethod<Problem>> method;
  };
  template <typename Problem>
  std::vector<Entry<Problem>>& entries();

  std::vector<Entry<AttentionProblem>> attentions_;
  std::vector<Entry<AttentionGradProblem>> gradients_;
  std::vector<AttentionReport> report_;
};

/// The methods in one line, with the number of attentions that each computes: "cuDNN 9.19.0 (2),
/// tiled (1; not cuDNN: it has no fp32 arithmetic)". "" without attentions.
std::string attention_methods(const std::vector<AttentionReport>& attentions);

}  // namespace hirgen
