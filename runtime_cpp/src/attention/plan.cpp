#include "attention/book.hpp"
#include "attention/shape.hpp"
#include "hirgen/attention.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

AttentionPlan::AttentionPlan(Context& context, const AttentionShape& shape,
                             const AttentionLayout& layout, const char* where) {
  check_shape(shape, where);
  method_ = context.attentions().method(AttentionProblem{shape, layout}, where);
  workspace_bytes = method_->workspace_bytes;
}

void AttentionPlan::run(const AttentionOperands& operands, void* workspace, cudaStream_t stream,
                        const char* where) const {
  method_->run(operands, workspace, stream, where);
}

AttentionGradPlan::AttentionGradPlan(Context& context, const AttentionShape& shape,
                                     const AttentionLayout& layout,
                                     const AttentionLayout& gradients, const char* where) {
  check_shape(shape, where);
  method_ = context.attentions().method(AttentionGradProblem{shape, layout, gradients}, where);
  workspace_bytes = method_->workspace_bytes;
}

void AttentionGradPlan::run(const AttentionGradOperands& operands, void* workspace,
                            cudaStream_t stream, const char* where) const {
  method_->run(operands, workspace, stream, where);
}

}  // namespace hirgen
