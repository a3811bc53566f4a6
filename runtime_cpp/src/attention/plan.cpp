// The plans, and which implementation each takes.
#include "attention/rows.hpp"
#include "attention/shape.hpp"
#include "hirgen/attention.hpp"

namespace hirgen {

AttentionPlan::AttentionPlan(Context& /*context*/, const AttentionShape& shape,
                             const AttentionLayout& layout, const char* where)
    : shape_(shape), layout_(layout) {
  check_shape(shape, where);
}

void AttentionPlan::run(const AttentionOperands& operands, void* /*workspace*/, cudaStream_t stream,
                        const char* where) const {
  attend_by_rows(shape_, layout_, operands, stream, where);
}

AttentionGradPlan::AttentionGradPlan(Context& /*context*/, const AttentionShape& shape,
                                     const AttentionLayout& layout,
                                     const AttentionLayout& gradients, const char* where)
    : shape_(shape), layout_(layout), gradients_(gradients) {
  check_shape(shape, where);
}

void AttentionGradPlan::run(const AttentionGradOperands& operands, void* /*workspace*/,
                            cudaStream_t stream, const char* where) const {
  attend_back_by_rows(shape_, layout_, gradients_, operands, stream, where);
}

}  // namespace hirgen
