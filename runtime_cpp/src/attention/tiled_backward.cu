#include "attention/tiled.hpp"
#include "attention/tiled_backward.hpp"

namespace hirgen {

AttentionMethod<AttentionGradProblem> plan_by_tiles(const AttentionGradProblem& problem,
                                                    const char* where) {
  const auto& [shape, layout, gradients] = problem;
  bool aligned = true;
  for (const AttentionStride& stride : {layout.q, layout.k, layout.v, gradients.o}) {
    aligned = aligned && aligned_rows(shape, stride);
  }
  const auto means = static_cast<size_t>(shape.batch * shape.query_heads * shape.query_rows);
  AttentionMethod<AttentionGradProblem> method{"tiled", means * sizeof(float), {}};
  tiles::visit_kernels(shape, [&]<typename T, int D>(T, std::integral_constant<int, D>) {
    using OfQueries = tiles::BackwardOfQueries<T, D>;
    using OfKeys = tiles::BackwardOfKeys<T, D>;
    tiles::prepare_tiles<OfQueries>(where);
    tiles::prepare_tiles<OfKeys>(where);
    method.run = [problem, aligned](const AttentionGradOperands& x, void* workspace,
                                    cudaStream_t stream, const char* where) {
      const auto& [shape, layout, gradients] = problem;
      const auto in = [](const void* data) { return static_cast<const T*>(data); };
      const auto out = [](void* data) { return static_cast<T*>(data); };
      const tiles::Backward<T, D> both{shape,
                                       layout,
                                       gradients,
                                       in(x.grad_o),
                                       in(x.q),
                                       in(x.k),
                                       in(x.v),
                                       in(x.o),
                                       x.lse,
                                       out(x.grad_q),
                                       out(x.grad_k),
                                       out(x.grad_v),
                                       static_cast<float*>(workspace),
                                       aligned};
      using tiles::BlockIndex;
      tiles::launch_tiles(OfQueries{both},
                          BlockIndex::count(shape.batch, shape.query_heads, shape.query_rows),
                          stream, where);
      tiles::launch_tiles(
          OfKeys{both},
          OfKeys::kParts * BlockIndex::count(shape.batch, shape.key_heads, shape.key_rows), stream,
          where);
    };
  });
  return method;
}

}  // namespace hirgen
