// The oracle on the device: whole tensors in fp32, one plain kernel per operation.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hirgen/reference.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// Evaluates the model on one device. Work is issued on one stream in order; only
/// freeing a tensor waits for it. A tensor that is defined again in the same size keeps
/// its memory, so that repeated checks allocate once. Throws Error(kInternal) on
/// operands that do not fit, which the model has excluded.
class DeviceReference final : public Reference {
 public:
  explicit DeviceReference(cudaStream_t stream) : stream_(stream) {}

  /// Defines an input by fill_integers's rule.
  void generate_integers(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input by fill_normal's rule.
  void generate_normal(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input from the elements of the whole tensor, in its element type and in
  /// host memory. Returns when they are copied.
  void upload(const TensorDesc& input, const void* whole);

  /// A defined tensor: fp32, row-major, on the device, valid until it is defined again
  /// and until this object goes.
  const float* data(const std::string& name) const { return found(name.c_str()).data.get(); }
  /// The size of the numbers that rounding a tensor and what it is made of goes by: `rms`, the root
  /// of the mean square of its elements, or more where in an attention terms have cancelled.
  double size(const std::string& name, double rms) const;
  /// Its logical shape; reduction axes are gone.
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
    std::optional<int64_t> seed = {};  ///< an int64 that the caller gave: fp32 has 24 bits of it
    double lost = 1;   ///< the size of terms over that of their sums, of all that it is made of
    double terms = 0;  ///< the size of its own terms: of a result that is 0, too
  };
  class Cancelled;
  const Tensor& found(const char* name) const;
  /// An operand of the next result that is defined.
  const Tensor& tensor(const char* name);
  /// Makes room for `name`; the content is undefined.
  float* define(const char* name, const Shape& shape);
  std::shared_ptr<float> allocate(int64_t elements, const char* name);
  /// The operand of a matmul with these batch axes, repeated along those that it lacks.
  Tensor stretch(const Tensor& operand, Shape batch);
  /// Defines the matmul of two operands, whose batch axes stretch; `bias` may be null.
  float* multiply(const char* out, Tensor left, Tensor right, bool transposed_b, const float* bias,
                  DType dtype);

  cudaStream_t stream_;
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> uploaded_;
  double lost_ = 1;  ///< the most of the operands of the next result
};

}  // namespace hirgen
