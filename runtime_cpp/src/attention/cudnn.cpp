#include "attention/cudnn.hpp"

#ifdef HIRGEN_CUDNN

#include <cudnn_frontend.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attention/cudnn_library.hpp"
#include "attention/zeros.hpp"
#include "base/text.hpp"
#include "hirgen/error.hpp"
#include "hirgen/trace.hpp"

namespace hirgen {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Pointers = std::unordered_map<int64_t, void*>;

/// The ids of tensors in graphs. A call passes a pointer for the id of each tensor of its graph.
enum Uid : int64_t { kQ = 1, kK, kV, kO, kLse, kGradO, kGradQ, kGradK, kGradV };

/// An attention in the form that cuDNN supports. cuDNN aligns the causal diagonal with the first
/// query and key (top left) or with the last query and key (bottom right). Queries from query_start
/// > 0 on fit the latter only if the last key is at the last query's position. So a causal Request
/// leaves out the later keys, which no query sees.
struct Request {
  AttentionShape shape;
  int64_t keys_seen;

  explicit Request(const AttentionShape& s)
      : shape(s),
        keys_seen(s.causal ? std::min(s.key_rows, s.query_start + s.query_rows) : s.key_rows) {}

  /// The reason why cuDNN cannot compute the attention; empty if only planning can tell.
  std::string obstacle() const {
    if (shape.dtype == DType::kFp32) return "it has no fp32 arithmetic";
    if (shape.head_size % 8 != 0) return "the head size is no multiple of 8";
    if (shape.causal && shape.query_start + shape.query_rows > shape.key_rows) {
      return "queries come after the last key";
    }
    return "";
  }

  template <typename Options>
  void set_mask(Options& options) const {
    options.set_attn_scale(shape.scale);
    if (!shape.causal) return;
    options.set_diagonal_alignment(shape.query_start == 0 ? fe::DiagonalAlignment_t::TOP_LEFT
                                                          : fe::DiagonalAlignment_t::BOTTOM_RIGHT);
    options.set_diagonal_band_right_bound(0);
    if (shape.window != 0) {  // clamped to cuDNN's int, which covers every key
      options.set_diagonal_band_left_bound(
          static_cast<int>(std::min<int64_t>(shape.window, std::numeric_limits<int>::max())));
    }
  }
};

fe::DataType_t cudnn_type(DType type) {
#define HG_CUDNN(enumerator, name, element, value, bytes, digits, stored, cuda, cudnn, ...) \
  if (type == DType::enumerator) return fe::DataType_t::cudnn;
  HG_NUMBER_TYPES(HG_CUDNN)
#undef HG_CUDNN
  return fe::DataType_t::NOT_SET;  // attention has neither integers nor fp8
}

/// The description of a tensor for a graph: id, extents, strides in elements and type.
struct Place {
  Uid uid;
  std::vector<int64_t> extents, strides;
  fe::DataType_t type;

  Place(Uid uid, int64_t heads, int64_t rows, const AttentionShape& s,
        const AttentionStride& stride)
      : uid(uid),
        extents{s.batch, heads, rows, s.head_size},
        strides{stride.batch, stride.head, stride.row, 1},
        type(cudnn_type(s.dtype)) {}

  Tensor input(fe::graph::Graph& graph) const {
    auto attributes = fe::graph::Tensor_attributes();
    attributes.set_uid(uid).set_dim(extents).set_stride(strides).set_data_type(type);
    return graph.tensor(attributes);
  }
  void output(const Tensor& result) const {
    result->set_output(true).set_uid(uid).set_dim(extents).set_stride(strides).set_data_type(type);
  }
};

/// Describes the tensors of one request: [batch, heads, rows, columns].
struct Places {
  const Request& request;

  Place queries(Uid uid, const AttentionStride& stride) const {
    const AttentionShape& s = request.shape;
    return {uid, s.query_heads, s.query_rows, s, stride};
  }
  Place keys(Uid uid, const AttentionStride& stride) const {
    return {uid, request.shape.key_heads, request.keys_seen, request.shape, stride};
  }
  Place logarithms() const {
    const AttentionShape& s = request.shape;
    Place place = queries(kLse, {s.query_heads * s.query_rows, s.query_rows, 1});
    place.extents.back() = 1;
    place.type = fe::DataType_t::FLOAT;
    return place;
  }
};

void define(fe::graph::Graph& graph, const AttentionProblem& p, const Request& request) {
  const Places at{request};
  auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  request.set_mask(options);
  const auto [o, lse] =
      graph.sdpa(at.queries(kQ, p.layout.q).input(graph), at.keys(kK, p.layout.k).input(graph),
                 at.keys(kV, p.layout.v).input(graph), options);
  at.queries(kO, p.layout.o).output(o);
  at.logarithms().output(lse);
}

void define(fe::graph::Graph& graph, const AttentionGradProblem& p, const Request& request) {
  const Places at{request};
  auto options = fe::graph::SDPA_backward_attributes().set_name("attention_grad");
  request.set_mask(options);
  const auto [q, k, v] = graph.sdpa_backward(
      at.queries(kQ, p.layout.q).input(graph), at.keys(kK, p.layout.k).input(graph),
      at.keys(kV, p.layout.v).input(graph), at.queries(kO, p.layout.o).input(graph),
      at.queries(kGradO, p.gradients.o).input(graph), at.logarithms().input(graph), options);
  at.queries(kGradQ, p.gradients.q).output(q);
  at.keys(kGradK, p.gradients.k).output(k);
  at.keys(kGradV, p.gradients.v).output(v);
}

/// A graph with its execution plan. run() locks the handle, so host threads run the graph one after
/// another.
struct PlannedGraph {
  std::shared_ptr<CudnnHandle> handle;
  fe::graph::Graph graph;
  size_t graph_bytes = 0;  ///< workspace of the graph; log-sum-exps may follow it

  void run(Pointers pointers, void* workspace, cudaStream_t stream, const char* where) {
    begin_statement(where);
    const auto lock = handle->use(stream, where);
    const TracedCall traced(TraceKind::kKernel, "cuDNN", stream, where);
    fe::error_t status = graph.execute(handle->get(), pointers, workspace);
    if (status.is_good()) return;
    throw Error(Code::kDevice, std::string(where) + ": cuDNN: " + status.get_message());
  }
};

/// The bytes of workspace that receive the log-sum-exps if the caller does not want them: a forward
/// graph always writes them.
size_t room_for_logarithms(const AttentionProblem& p) {
  return sizeof(float) *
         static_cast<size_t>(p.shape.batch * p.shape.query_heads * p.shape.query_rows);
}
size_t room_for_logarithms(const AttentionGradProblem& /*p*/) { return 0; }

/// Calls pass all pointers as void*, also pointers to tensors that the graph only reads.
void* pointer(const void* data) { return const_cast<void*>(data); }

void run(PlannedGraph& planned, const AttentionProblem& /*p*/, const AttentionOperands& operands,
         void* workspace, cudaStream_t stream, const char* where) {
  void* unwanted = static_cast<char*>(workspace) + planned.graph_bytes;
  planned.run({{kQ, pointer(operands.q)},
               {kK, pointer(operands.k)},
               {kV, pointer(operands.v)},
               {kO, operands.o},
               {kLse, operands.lse != nullptr ? operands.lse : unwanted}},
              workspace, stream, where);
}

void run(PlannedGraph& planned, const AttentionGradProblem& p,
         const AttentionGradOperands& operands, void* workspace, cudaStream_t stream,
         const char* where) {
  planned.run({{kQ, pointer(operands.q)},
               {kK, pointer(operands.k)},
               {kV, pointer(operands.v)},
               {kO, pointer(operands.o)},
               {kLse, pointer(operands.lse)},
               {kGradO, pointer(operands.grad_o)},
               {kGradQ, operands.grad_q},
               {kGradK, operands.grad_k},
               {kGradV, operands.grad_v}},
              workspace, stream, where);
  const int64_t seen = Request(p.shape).keys_seen;
  clear_keys(p.shape, seen, operands.grad_k, p.gradients.k, stream, where);
  clear_keys(p.shape, seen, operands.grad_v, p.gradients.v, stream, where);
}

}  // namespace

template <typename Problem>
std::optional<AttentionMethod<Problem>> plan_by_cudnn(const Problem& problem, std::string* reason) {
  const Request request(problem.shape);
  *reason = request.obstacle();
  if (!reason->empty()) return {};
  const auto planned = std::make_shared<PlannedGraph>();
  planned->handle = CudnnHandle::shared(reason);
  if (planned->handle == nullptr) return {};
  planned->graph.set_intermediate_data_type(fe::DataType_t::FLOAT);
  planned->graph.set_compute_data_type(fe::DataType_t::FLOAT);
  define(planned->graph, problem, request);
  fe::error_t status = planned->graph.build(planned->handle->get(), {fe::HeurMode_t::A});
  int64_t bytes = 0;
  if (status.is_bad() || planned->graph.get_workspace_size(bytes).is_bad()) {
    *reason = status.get_message();
    return {};
  }
  constexpr size_t kAlignment = 256;
  planned->graph_bytes = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  return AttentionMethod<Problem>{
      planned->handle->name(), planned->graph_bytes + room_for_logarithms(problem),
      [planned, problem](const auto& operands, void* workspace, cudaStream_t stream,
                         const char* where) {
        hirgen::run(*planned, problem, operands, workspace, stream, where);
      }};
}

}  // namespace hirgen

#else

namespace hirgen {

template <typename Problem>
std::optional<AttentionMethod<Problem>> plan_by_cudnn(const Problem& /*problem*/,
                                                      std::string* reason) {
  *reason = "built without cuDNN";
  return {};
}

}  // namespace hirgen

#endif

namespace hirgen {

template std::optional<AttentionMethod<AttentionProblem>> plan_by_cudnn(const AttentionProblem&,
                                                                        std::string*);
template std::optional<AttentionMethod<AttentionGradProblem>> plan_by_cudnn(
    const AttentionGradProblem&, std::string*);

}  // namespace hirgen
