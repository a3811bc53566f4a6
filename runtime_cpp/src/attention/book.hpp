// The attentions of a context, and the method that computes each, for its calls and for the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/method.hpp"

namespace hirgen {

/// One attention or gradient, and its method.
struct AttentionReport {
  std::string attention;  ///< describe() of its shape
  bool gradient = false;
  std::string method;
  std::string reason;  ///< why it is not cuDNN's; empty: it is, or cuDNN was not tried
  int64_t workspace_bytes = 0;
};

/// The book of one context; only for the context's host thread.
class AttentionBook {
 public:
  /// The method for a problem: cuDNN if it has a plan, or else the tiled kernels. HIRGEN_ATTENTION
  /// requests one of them, "cudnn" or "tiled"; throws Error if that is not possible. Equal problems
  /// share one method, which is made once.
  template <typename Problem>
  std::shared_ptr<const AttentionMethod<Problem>> method(const Problem& problem, const char* where);

  /// The attentions in the order of their first method() calls.
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

/// The methods in one line, "cuDNN 9.19.0 (2), tiled (1; not cuDNN: it has no fp32 arithmetic)"; ""
/// without any.
std::string attention_methods(const std::vector<AttentionReport>& attentions);

}  // namespace hirgen
