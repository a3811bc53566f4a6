// The attentions of a context: which method computes each, for its calls and for the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/method.hpp"

namespace hirgen {

/// One attention or gradient, and who computes it.
struct AttentionReport {
  std::string attention;  ///< describe() of its shape
  bool gradient = false;
  std::string method;
  std::string reason;  ///< why it is not cuDNN's; empty: it is, or nobody asked
  int64_t workspace_bytes = 0;
};

/// One context's. For the context's host thread, like the context.
class AttentionBook {
 public:
  /// Who computes the problem: cuDNN where it has a plan, or else the tiled kernels. The variable
  /// HIRGEN_ATTENTION asks for one of them, "cudnn" or "tiled"; throws Error if that cannot. Equal
  /// problems have one method, which is made once.
  template <typename Problem>
  std::shared_ptr<const AttentionMethod<Problem>> method(const Problem& problem, const char* where);

  /// In the order in which they were first asked for.
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
