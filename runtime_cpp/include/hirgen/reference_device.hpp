// The reference on a device: whole tensors in fp32, and simple kernels for each operation.
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
namespace reference {
struct Noisy;
struct Bounds;
}  // namespace reference

/// Evaluates operations on one device, in order on one stream. The host blocks on the stream when a
/// tensor is freed, in dropout() and upload(), and for some steps of the bounds. Operations throw
/// Error(kInternal) for undefined operands or wrong shapes, Error(kEnvironment) if there is too
/// little memory, and Error(kUsage) for a matmul that is too large for one grid.
class DeviceReference final : public Reference {
 public:
  /// If `ranks` is positive, the reference also computes error bounds for programs on this number
  /// of ranks.
  explicit DeviceReference(cudaStream_t stream, int ranks = 0) : stream_(stream), ranks_(ranks) {}

  /// Defines an input with the values of fill_integers(). `index` is its index among the inputs.
  void generate_integers(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input with the values of fill_normal().
  void generate_normal(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input by copying `whole`, the elements of the whole tensor in host memory, in the
  /// tensor's element type. Returns when the copy is complete.
  void upload(const TensorDesc& input, const void* whole);

  /// A defined tensor: fp32, row-major, on the device. Valid until it is defined again, or this
  /// object is destroyed.
  const float* data(const std::string& name) const { return found(name.c_str()).data.get(); }
  /// Returns, for each element, a bound of the distance between data() and the result of a correct
  /// program, which is stored as `dtype`. Returns null if operations have only moved the elements,
  /// so that every correct result equals data(), or if the constructor got no `ranks`. May block on
  /// the stream.
  const float* bounds(const std::string& name, DType dtype);
  /// The shape of a defined tensor over all ranks.
  const Shape& shape(const std::string& name) const { return found(name.c_str()).shape; }

  void set(const char* out, const char* in) override;
  void matmul(const char* out, const char* a, const char* b, DType dtype) override;
  void linear(const char* out, const char* x, const char* w, const char* bias,
              DType dtype) override;
  void block_linear(const char* out, const char* x, const char* w, const char* s, const char* t,
                    DType dtype) override;
  void broadcast(const char* out, const char* in, int axis) override;
  void permute(const char* out, const char* in, const std::vector<int>& perm) override;
  void reshape(const char* out, const char* in, const Shape& shape) override;
  void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) override;
  void concat(const char* out, const std::vector<const char*>& in, int axis) override;
  void gather(const char* out, const char* table, const char* ids, const char* first, int axis,
              int batches) override;
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
    std::shared_ptr<float> data;  ///< tensors of set() and reshape() share their operand's memory
    DType dtype = DType::kFp32;   ///< the type that elements are rounded to
    /// The exact value of an uploaded int64 tensor of one element, which `data` rounds to 24 bits.
    std::optional<int64_t> seed = {};
    // The members below are for bounds. `bound` has the bound of each element. It is null if
    // operations have only moved the elements, not computed them, or if there are no `ranks`.
    std::shared_ptr<float> bound = {};
    std::shared_ptr<float> other = {};  ///< elements of a second evaluation, rounded differently
    /// The part of each bound that is due to leaps (check/bounds.hpp); null if there are none.
    std::shared_ptr<float> leap = {};
    /// The logarithms of elements that are exponentials or sums of these, and bounds of their
    /// errors; null if they are not known.
    std::shared_ptr<float> log_value = {}, log_bound = {};
    bool summed = false;  ///< those of sums; bounds of exponentials lack the rounding of exp
    /// If the elements are the largest ones of a tensor along an axis: its elements, shape and
    /// axis.
    std::weak_ptr<float> largest_of = {};
    Shape rows = {};
    size_t along = 0;
    bool rounds = false;  ///< elements were rounded to 16 or 8 bits, here or in an operand
    /// Rounding can switch between branches of the computation, so the difference of `data` and
    /// `other` may not show the size of the errors.
    bool jumps = false;
    int64_t samples = 0;  ///< number of elements with independent errors; others repeat these
    bool tight = false;   ///< tighten() has already been applied

    /// Returns whether the elements are the largest ones of x, with an axis of one element.
    bool are_largest_of(const Tensor& x) const {
      Shape folded = x.shape;
      // A kernel may compute x again without rounding it, and read a maximum that was rounded.
      if (size_of(x.dtype) < sizeof(float) || rows != x.shape) return false;
      if (largest_of.expired() || largest_of.lock() != x.data) return false;
      folded[along] = 1;
      return shape == folded;
    }
    const float* again() const { return (other ? other : data).get(); }
    reference::Noisy noisy() const;
    reference::Bounds bounds() const;
  };
  const Tensor& found(const char* name) const;
  using Arrays = std::vector<const float*>;
  /// Prepares the bounds of a result: sets `bound` to 0, allocates `other`, which the caller must
  /// fill, and sets `rounds`, `jumps` and `samples`. `repeats` says that the elements of the result
  /// are copies of elements of the operands.
  Tensor& bounded(const char* out, const std::vector<Tensor>& operands, DType dtype,
                  bool repeats = false);
  /// Defines a tensor by copying elements of other tensors. copy(to, arrays) gets one array of each
  /// operand. move() calls it for the elements and, if there are bounds, also for the bounds and
  /// for the second evaluations.
  void move(const char* out, const std::vector<Tensor>& in, const Shape& shape,
            const std::function<void(float*, const Arrays&)>& copy);
  /// Returns the smallest ratio of bound to size over all elements. The bounds allow a relative
  /// error of this size that all elements have in common. Returns 0 without bounds, or if the ratio
  /// is 1 or more. Blocks on the stream.
  double common(const Tensor& operand) const;
  /// Returns whether any element has an infinite bound. Blocks on the stream.
  bool unsure(const Tensor& operand) const;
  /// Returns a bound of the relative error of a sum over ranks. The partial sum of each rank is
  /// rounded to `operand` or `result`, whichever type is less precise, but never to integers or
  /// numbers of 8 bits. Returns 0 if the whole sum
  /// has one term (`terms` is 1).
  double partial(int64_t terms, DType operand, DType result) const;
  /// Sets the leaps of the result of a product to the sums of the leaps of its terms.
  void add_leaps(Tensor& result, const std::vector<Tensor>& operands, bool transposed_b);
  void bound_product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
                     DType dtype);
  /// Computes the bounds of the results of an attention or its gradient, by calls of attend(arrays,
  /// results) with modified operands. `roundings` has, for each operand, the unit in the last place
  /// of 1 in its type.
  void bound_attention(
      const std::vector<const char*>& out, const std::vector<Tensor>& operands,
      const std::vector<double>& roundings, DType dtype,
      const std::function<void(const Arrays&, const std::vector<float*>&)>& attend);
  void tighten(Tensor& tensor);
  /// Defines the tensor `name` with uninitialised elements. Reuses the memory of an earlier tensor
  /// of this name and size, unless another tensor shares this memory.
  float* define(const char* name, const Shape& shape, DType dtype);
  std::shared_ptr<float> allocate(int64_t elements, const char* name);
  /// Allocates zeros for a computation of bounds.
  std::shared_ptr<float> zeros(int64_t elements);
  /// Returns the operand of a matmul, broadcast along its batch axes to the extents `batch`.
  Tensor stretch(const Tensor& operand, Shape batch);
  /// Computes a matmul into `out`, and broadcasts the operands along batch axes. A third operand,
  /// if any, is the bias.
  void multiply(float* out, std::vector<Tensor> operands, bool transposed_b, DType dtype);
  /// Returns the tensor `in`, with each block of `rows` x 128 elements multiplied by its scale.
  Tensor scaled(const char* in, const char* scales, int64_t rows);
  /// Defines `out` as the result of multiply(), with its bounds.
  void product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
               DType dtype);

  cudaStream_t stream_;
  int ranks_;
  uint64_t seeds_ = 0;  ///< the last seed of random errors; each operation has other seeds
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> uploaded_;
};

}  // namespace hirgen
