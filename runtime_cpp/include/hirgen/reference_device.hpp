// The oracle on the device: whole tensors in fp32, one plain kernel per operation.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hirgen/reference.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// Evaluates the model on one device, on one stream in order. Only freeing a tensor waits for the
/// stream. A tensor that is defined again in the same size keeps its memory, so that repeated
/// checks allocate once. Throws Error(kInternal) for operands of wrong shapes, which the model has
/// excluded.
class DeviceReference final : public Reference {
 public:
  /// If `ranks` is positive, it has bounds for programs on that
  /// number of ranks.
  explicit DeviceReference(cudaStream_t stream, int ranks = 0) : stream_(stream), ranks_(ranks) {}

  /// Defines an input by the rule of fill_integers.
  void generate_integers(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input by the rule of fill_normal.
  void generate_normal(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input from the elements of the whole tensor, in its element type and in
  /// host memory. Returns when they are copied.
  void upload(const TensorDesc& input, const void* whole);

  /// A defined tensor: fp32, row-major, on the device. Valid until it is defined again, or this
  /// object is destroyed.
  const float* data(const std::string& name) const { return found(name.c_str()).data.get(); }
  /// The bounds of its elements, which are stored in a type. Null: right elements are equal.
  const float* bounds(const std::string& name, DType dtype);
  /// Its logical shape, without reduction axes.
  const Shape& shape(const std::string& name) const { return found(name.c_str()).shape; }

  void set(const char* out, const char* in) override;
  void matmul(const char* out, const char* a, const char* b, DType dtype) override;
  void linear(const char* out, const char* x, const char* w, const char* bias,
              DType dtype) override;
  void broadcast(const char* out, const char* in, int axis) override;
  void permute(const char* out, const char* in, const std::vector<int>& perm) override;
  void reshape(const char* out, const char* in, const Shape& shape) override;
  void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) override;
  void concat(const char* out, const std::vector<const char*>& in, int axis) override;
  void positions(const char* out, int64_t extent) override;
  void attention(const char* out, const char* logs, const AttentionKind& kind, const char* q,
                 const char* k, const char* v, DType dtype) override;
  void attention_grad(const GradNames& out, const AttentionKind& kind, const char* grad_o,
                      const char* q, const char* k, const char* v, const char* o, const char* logs,
                      DType dtype) override;
  void dropout(const char* out, const Dropout& kind, const char* x, const char* seed,
               const char* column, const char* row, DType dtype) override;
  void cast(const char* out, const char* in, DType dtype) override;
  void unary(const char* out, const char* fn, const char* in, DType dtype) override;
  void binary(const char* out, const char* fn, const char* a, const char* b, DType dtype) override;
  void reduce(const char* out, const char* fn, const char* in, int axis, DType dtype) override;

 private:
  struct Tensor {
    Shape shape;
    std::shared_ptr<float> data;       ///< shared by set and reshape, which copy nothing
    std::optional<int64_t> seed = {};  ///< an int64 that the caller gave; fp32 would keep 24 bits
    // For bounds. Null: no rounding shows.
    std::shared_ptr<float> bound = {};
    std::shared_ptr<float> other = {};  ///< elements with other roundings
    bool rounds = false;                ///< to 16 bits on the way
    /// Rounding decides between branches on the way: another evaluation may not show what it does.
    bool jumps = false;
    bool tight = false;  ///< bounds have been lowered as far as `other` allows

    const float* again() const { return (other ? other : data).get(); }
  };
  const Tensor& found(const char* name) const;
  using Arrays = std::vector<const float*>;
  /// Gives a result bounds and another evaluation, for its operation to fill.
  Tensor& bounded(const char* out, const std::vector<Tensor>& operands, DType dtype);
  /// Makes a tensor of the elements of others: copy(to, arrays) copies an array of each.
  void move(const char* out, const std::vector<Tensor>& in, const Shape& shape,
            const std::function<void(float*, const Arrays&)>& copy);
  /// A relative error that all elements may have in common.
  double common(const Tensor& operand) const;
  bool unsure(const Tensor& operand) const;
  /// The relative error of a sum of ranks' parts, which are rounded.
  double partial(int64_t terms, DType dtype) const;
  void bound_product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
                     DType dtype);
  /// Bounds the results of attend(arrays, results), with operands of these relative roundings.
  void bound_attention(
      const std::vector<const char*>& out, const std::vector<Tensor>& operands,
      const std::vector<double>& roundings, DType dtype,
      const std::function<void(const Arrays&, const std::vector<float*>&)>& attend);
  void tighten(Tensor& tensor);
  /// Allocates memory for `name`; the content is undefined.
  float* define(const char* name, const Shape& shape);
  std::shared_ptr<float> allocate(int64_t elements, const char* name);
  /// The operand of a matmul with batch axes `batch`, repeated along the axes that it lacks.
  Tensor stretch(const Tensor& operand, Shape batch);
  /// Computes a matmul of operands whose batch axes stretch, the third one of which is a bias.
  void multiply(float* out, std::vector<Tensor> operands, bool transposed_b, DType dtype);
  /// Defines it.
  void product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
               DType dtype);

  cudaStream_t stream_;
  int ranks_;
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> uploaded_;
};

}  // namespace hirgen
